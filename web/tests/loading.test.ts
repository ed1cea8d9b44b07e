// Loads that fail: what is shown instead, and that the next attempt succeeds.
import { beforeEach, describe, expect, it } from "vitest";
import { Client } from "../src/data/client";
import { FaultError } from "../src/data/transport";
import { chooseColor, chooseLabels, chooseSize, setRange } from "../src/state/choices";
import { addSlot, removeSlot } from "../src/state/layout";
import { loadColumn, loadPoints } from "../src/state/loading";
import { load } from "../src/state/start";
import { Store } from "../src/state/store";
import { MockTransport } from "./mock";

let transport: MockTransport;
let store: Store;

beforeEach(() => {
  transport = new MockTransport();
  store = new Store(new Client(transport));
});

/** Requests for a path fail until it is mended. */
function breakPath(path: string, error: Error = new Error("the wire is cut")): () => void {
  transport.answers[`GET ${path}`] = () => { throw error; };
  return () => {
    transport.answers = Object.fromEntries(Object.entries(transport.answers).filter(([key]) => key !== `GET ${path}`));
  };
}

const POINTS = "/api/panels/p0/points";
const countAsked = (path: string): number => transport.asked.filter((asked) => asked.startsWith(`GET ${path}`)).length;

describe("points that do not come", () => {
  it("leave the other panels and the rest of the page as they are", async () => {
    breakPath(POINTS);
    await load(store);
    expect(store.fault.value).toBeNull();
    expect(store.loading.value).toBe("");
    expect(store.pointFaults.value.get("p0")?.message).toBe("the wire is cut");
    expect(store.points.has("p0")).toBe(false);
    expect([...store.points.get("p1")![0]!]).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(store.values.has("c0")).toBe(true);
    expect(store.pointRequests.size).toBe(0); // nobody waits for them
  });

  it("are loaded by the next attempt", async () => {
    const mend = breakPath(POINTS);
    await load(store);
    mend();
    const before = store.pointsVersion.value;
    await loadPoints(store, "p0");
    expect(store.pointFaults.value.size).toBe(0);
    expect([...store.points.get("p0")![0]!]).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(store.pointsVersion.value).toBeGreaterThan(before);
  });

  it("are loaded when the panel is shown again", async () => {
    const mend = breakPath(POINTS);
    await load(store);
    mend();
    removeSlot(store, store.slots.value[0]!.id);
    await addSlot(store, "p0");
    expect(store.points.has("p0")).toBe(true);
  });

  it("are not shown in part: one chunk that fails is a failure, and the rest is not asked for", async () => {
    transport.view = { ...transport.view, limits: { ...transport.view.limits, chunk_rows: 1 } };
    let left = 2;
    const mend = breakPath(POINTS);
    const failing = transport.answers[`GET ${POINTS}`]!;
    const request = transport.request.bind(transport);
    transport.request = (method, path, body) => {
      if (path.startsWith(POINTS) && left-- > 0) {
        mend();
        const reply = request(method, path, body);
        transport.answers[`GET ${POINTS}`] = failing;
        return reply;
      }
      return request(method, path, body);
    };
    await load(store);
    expect(store.points.has("p0")).toBe(false);
    expect(countAsked(POINTS)).toBe(4); // at once; three more were never asked for
  });

  it("for lack of a valid link end the page, with what to do", async () => {
    breakPath(POINTS, new FaultError({ code: "unauthorized", message: "expired", remedy: "Take the link." }));
    await load(store);
    expect(store.fault.value).toMatchObject({ code: "unauthorized" });
  });
});

it("points are asked for once, however many wait for them", async () => {
  await load(store);
  store.points.delete("p0");
  const before = countAsked(POINTS);
  const both = [loadPoints(store, "p0"), loadPoints(store, "p0")];
  expect(both[0]).toBe(both[1]);
  await Promise.all(both);
  await loadPoints(store, "p0");
  expect(countAsked(POINTS) - before).toBe(3); // chunks
});

describe("a column that does not come", () => {
  it("is loaded by the next attempt, and asked for once then", async () => {
    await load(store);
    const mend = breakPath("/api/columns/c2");
    await expect(loadColumn(store, "c2")).rejects.toThrow("the wire is cut");
    mend();
    await loadColumn(store, "c2");
    expect([...(store.values.get("c2") as Float32Array)].slice(0, 3)).toEqual([0, 10, 20]);
    const before = countAsked("/api/columns/c2");
    await loadColumn(store, "c2");
    expect(countAsked("/api/columns/c2")).toBe(before);
  });

  it("is not chosen, so that it can be chosen again", async () => {
    await load(store);
    const mend = breakPath("/api/columns/c2");
    await chooseColor(store, "c2");
    expect(store.colorBy.value).toBe("c0");
    expect(store.toast.value).toMatchObject({ text: "the wire is cut", bad: true });
    await chooseSize(store, "c2");
    expect(store.sizeBy.value).toBe("");
    await chooseLabels(store, "c2");
    expect(store.labelBy.value).toBe("c0");
    await setRange(store, "c2", [0, 10]);
    expect(store.ranges.value.size).toBe(0);
    mend();
    await chooseColor(store, "c2");
    expect(store.colorBy.value).toBe("c2");
  });

  it("leaves a later choice alone", async () => {
    await load(store);
    breakPath("/api/columns/c2");
    const first = chooseColor(store, "c2");
    await chooseColor(store, "");
    await first;
    expect(store.colorBy.value).toBe("");
  });

  it("at first leaves the points in one color", async () => {
    breakPath("/api/columns/c0");
    await load(store);
    expect(store.fault.value).toBeNull();
    expect(store.colorBy.value).toBe("");
    expect(store.points.has("p0")).toBe(true);
  });
});

it("a sheet of thumbnails that does not come is asked for again", async () => {
  transport.view = { ...transport.view, thumbnails: { width: 8, height: 8, across: 3 } };
  await load(store);
  const mend = breakPath("/api/thumbnails");
  await expect(store.client.getThumbnail(4)).rejects.toThrow("the wire is cut");
  mend();
  transport.answers["GET /api/thumbnails"] = () => "png";
  expect((await store.client.getThumbnail(4)).at).toEqual([1, 1]);
});
