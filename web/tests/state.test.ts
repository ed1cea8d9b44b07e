import { beforeEach, describe, expect, it, vi } from "vitest";
import { Client } from "../src/data/client";
import type { CategoryColumn, Job, NumberColumn, Parameter } from "../src/data/types";
import { chooseColor, clearFilters, search, setRange, toggleClass } from "../src/state/choices";
import { FADED, HIDDEN, makeLooks } from "../src/state/coloring";
import { applyFilters, countBins, countClasses } from "../src/state/filters";
import { formatDuration, formatNumber } from "../src/state/format";
import { startJob } from "../src/state/jobs";
import { removeSlot } from "../src/state/layout";
import { applyState, decodeState, encodeState } from "../src/state/link";
import { loadColumn } from "../src/state/loading";
import { parseParameter } from "../src/state/parameters";
import { choose, compareSelection, select, selectRows, selectedRows } from "../src/state/selection";
import { load } from "../src/state/start";
import { Store } from "../src/state/store";
import { MockTransport } from "./mock";

let transport: MockTransport;
let store: Store;

beforeEach(async () => {
  transport = new MockTransport();
  store = new Store(new Client(transport));
  await load(store);
});

describe("loading", () => {
  it("puts chunks of rows together", () => {
    expect([...store.points.get("p0")![0]!]).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(transport.asked.filter((asked) => asked.startsWith("GET /api/panels/p0/points"))).toHaveLength(3);
    expect([...(store.values.get("c0") as Int16Array)]).toEqual([0, 1, 2, 0, 1, 2, -1]);
    expect(store.title(4)).toBe("e");
  });

  it("shows the first embeddings, colored by the label", () => {
    expect(store.slots.value.map((slot) => slot.panel)).toEqual(["p0", "p1"]);
    expect(store.colorBy.value).toBe("c0");
    expect(store.loading.value).toBe("");
  });

  it("keeps what went wrong, with its remedy", async () => {
    const broken = new Store(new Client({ request: () => Promise.reject(new Error("no wire")) }));
    await load(broken);
    expect(broken.fault.value?.message).toBe("no wire");
    await store.attempt(async () => { await store.client.getRow(3); });
    expect(store.toast.value).toEqual({ text: "no /api/rows/3", remedy: "Reload.", bad: true });
  });
});

describe("filters", () => {
  const label = (): CategoryColumn => store.column("c0") as CategoryColumn;

  it("hide classes, one by one or all but one", () => {
    toggleClass(store, label(), 1, false);
    expect([...store.visible.value!]).toEqual([1, 0, 1, 1, 0, 1, 1]);
    toggleClass(store, label(), 1, false);
    expect(store.visible.value).toBeNull();
    toggleClass(store, label(), 2, true);
    expect([...store.visible.value!]).toEqual([0, 0, 1, 0, 0, 1, 0]);
    toggleClass(store, label(), 2, true);
    expect(store.visible.value).toBeNull();
  });

  it("keep ranges, without missing values, and combine with a search", async () => {
    await setRange(store, "c2", [10, 40]);
    expect([...store.visible.value!]).toEqual([0, 1, 1, 1, 1, 0, 0]);
    await search(store, "c");
    expect([...store.visible.value!]).toEqual([0, 0, 1, 0, 0, 0, 0]);
    expect(store.visibleCount.value).toBe(1);
    clearFilters(store);
    expect(store.visibleCount.value).toBe(7);
  });

  it("keep the ends of a range, which are rounded like the values", () => {
    const values = Float32Array.of(0.1, 0.2, 0.7);
    const ranges = new Map<string, readonly [number, number]>();
    for (const [key, range] of [["c", [0.1, 0.2]], ["c", [0.7, 0.8]]] as [string, [number, number]][]) {
      ranges.set(key, range);
      const kept = applyFilters(3, { hidden: new Map(), ranges, matches: null }, new Map([["c", values]]))!;
      expect([...kept]).toEqual([0.1, 0.2, 0.7].map((value) => Number(value >= range[0] && value <= range[1])));
    }
  });

  it("count classes and bins of a selection", async () => {
    await loadColumn(store, "c2");
    const mask = Uint8Array.of(1, 1, 0, 1, 0, 0, 1);
    expect([...countClasses(store.values.get("c0") as Int16Array, 3, mask)]).toEqual([2, 1, 0, 1]);
    expect([...countBins(store.column("c2") as NumberColumn, store.values.get("c2") as Float32Array, mask)]).toEqual([2, 1]);
  });

  it("search the page itself where the source cannot", async () => {
    store.view.value = { ...store.view.value!, can: { ...store.view.value!.can, search: false } };
    await search(store, "THREE");
    expect([...store.matches.value!]).toEqual([0, 0, 1, 0, 0, 1, 0]);
  });
});

describe("colors", () => {
  it("fade what is not selected and hide what is filtered", () => {
    selectRows(store, [0, 2]);
    toggleClass(store, store.column("c0") as CategoryColumn, 2, false);
    const { codes, legend } = store.coloringOf("p0");
    expect(codes[0]).toBe(0);
    expect(codes[1]).toBe(1 | FADED);
    expect(codes[2]).toBe(HIDDEN);
    const looks = makeLooks(legend, "light");
    expect(looks[HIDDEN]!.weight).toBe(0);
    expect(looks[1 | FADED]!.weight).toBeLessThan(looks[1]!.weight);
  });

  it("spread numbers over the scale, missing ones apart", async () => {
    await chooseColor(store, "c2");
    const { codes } = store.coloringOf("p0");
    expect([codes[0], codes[5]]).toEqual([0, 99]);
    expect(codes[6]).toBe(120);
  });

  it("are each panel's own for evidence", async () => {
    transport.answers["GET /api/panels/p0/quality"] = () => ({ state: "failed", fault: { code: "failed", message: "too few rows", remedy: "" } });
    await chooseColor(store, "evidence:stretch");
    expect(store.quality.value.p0).toMatchObject({ state: "failed" });
    expect(store.coloringOf("p0").legend.kind).toBe("none");
  });
});

describe("points", () => {
  it("chosen show their true neighbors, of the last choice only", async () => {
    const first = choose(store, 3);
    const second = choose(store, 5);
    await Promise.all([first, second]);
    expect(store.neighbors.value?.row).toBe(5);
    await choose(store, -1);
    expect(store.neighbors.value).toBeNull();
  });

  it("selected can be compared, none when the selection is empty", async () => {
    selectRows(store, [1, 4]);
    await compareSelection(store);
    expect(store.comparison.value?.selected).toBe(2);
    select(store, new Uint8Array(7));
    expect(store.selection.value).toBeNull();
    expect(store.comparison.value).toBeNull();
  });
});

const job = (change: Partial<Job>): Job => ({
  id: "j0", method: "TSNE", name: "t-SNE", state: "running", stage: "optimize", done: 1, total: 2, seconds: 1,
  seconds_left: 1, frame: 1, panel: null, fault: null, ...change,
});

describe("jobs", () => {
  it("show the live embedding, then the result in its place", async () => {
    vi.useFakeTimers();
    transport.answers["POST /api/jobs"] = () => {
      transport.jobs = [job({})];
      return transport.jobs[0];
    };
    await startJob(store, { method: "TSNE", parameters: {} });
    await vi.advanceTimersByTimeAsync(400);
    expect(store.slots.value.map((slot) => slot.panel)).toEqual(["p0", "p1", "live:j0"]);
    transport.view.panels.push({ ...transport.view.panels[1]!, key: "p2", name: "new" });
    transport.jobs = [job({ state: "done", panel: "p2" })];
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    expect(store.slots.value.map((slot) => slot.panel)).toEqual(["p0", "p1", "p2"]);
    expect(store.livePanels.value).toEqual([]);
  });

  it("that are cancelled leave no panel", async () => {
    vi.useFakeTimers();
    transport.answers["POST /api/jobs"] = () => {
      transport.jobs = [job({})];
      return transport.jobs[0];
    };
    await startJob(store, { method: "TSNE", parameters: {} });
    await vi.advanceTimersByTimeAsync(400);
    transport.jobs = [job({ state: "cancelled" })];
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    expect(store.slots.value.map((slot) => slot.panel)).toEqual(["p0", "p1"]);
    expect(store.toast.value?.text).toBe("t-SNE was cancelled.");
  });
});

describe("the link", () => {
  it("brings the state back", async () => {
    selectRows(store, [1, 2]);
    await setRange(store, "c2", [5, 45]);
    toggleClass(store, store.column("c0") as CategoryColumn, 0, false);
    removeSlot(store, store.slots.value[0]!.id);
    store.themeChoice.value = "dark";
    await choose(store, 2);
    const text = encodeState(store);
    expect(text).toMatch(/^v1=[\w-]+$/);
    const again = new Store(new Client(new MockTransport()));
    await load(again);
    await applyState(again, `#${text}`);
    expect(again.slots.value.map((slot) => slot.panel)).toEqual(["p1"]);
    expect(selectedRows(again)).toEqual([1, 2]);
    expect(again.themeChoice.value).toBe("dark");
    expect([...again.visible.value!]).toEqual([...store.visible.value!]);
    expect(again.chosen.value).toBe(2);
  });

  it("that is damaged or of other data changes nothing", async () => {
    expect(decodeState("#v1=%%%")).toBeNull();
    expect(decodeState("#section")).toBeNull();
    const slot = { panel: "p0", axes: [0, 1], spatial: false, camera: null };
    for (const state of [
      [], { rows: ["x"] }, { tab: "other" }, { theme: "pink" }, { slots: [{ panel: "p0" }] },
      { slots: [{ ...slot, camera: { x: 0, y: 0, scale: 0, yaw: 0, pitch: 0 } }] },
      { slots: [{ ...slot, camera: { x: 0, y: 0, scale: "1", yaw: 0, pitch: 0 } }] },
    ]) expect(decodeState(`#v1=${btoa(JSON.stringify(state))}`)).toBeNull();
    const other = btoa(JSON.stringify({ slots: [{ ...slot, panel: "p77" }], rows: [99, -1, 1.5], hidden: [["c99", [0]]], chosen: 900 }));
    expect(decodeState(`#v1=${other}`)).not.toBeNull();
    await applyState(store, `v1=${other}`);
    expect(store.slots.value).toHaveLength(2);
    expect(store.selection.value).toBeNull();
    expect(store.chosen.value).toBe(-1);
  });
});

describe("parameters", () => {
  const base: Parameter = {
    name: "k", help: "", default: 5, kind: "integer", optional: false, low: 1, high: 10,
    low_open: false, high_open: true, choices: null, advanced: false,
  };
  it.each([
    [{}, "5", { value: 5 }],
    [{}, "0", { error: "0 is too small: at least 1." }],
    [{}, "10", { error: "10 is too large: less than 10." }],
    [{}, "2.5", { error: "2.5 is not a whole number." }],
    [{}, "", { error: "k needs a value." }],
    [{ optional: true }, " ", { value: null }],
    [{ choices: ["auto"] }, "auto", { value: "auto" }],
    [{ choices: ["auto"] }, "many", { error: "many is not a number. Words that are allowed: auto." }],
    [{ kind: "boolean" }, "false", { value: false }],
    [{ kind: "choice", choices: ["a", "b"] }, "c", { error: "c is not among a, b." }],
    [{ kind: "number", low: 0, low_open: true }, "0", { error: "0 is too small: more than 0." }],
  ] as [Partial<Parameter>, string, object][])("%o takes %s", (change, text, wanted) => {
    expect(parseParameter({ ...base, ...change }, text)).toEqual(wanted);
  });
});

it("writes numbers shortly", () => {
  expect(formatNumber(-1.234567)).toBe("−1.235");
  expect(formatNumber(NaN)).toBe("–");
  expect([9.96, 45.2, 600].map(formatDuration)).toEqual(["10 s", "45 s", "10 min"]);
});
