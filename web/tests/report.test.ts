import { describe, expect, it } from "vitest";
import { ReportClient, type ReportData } from "../src/data/report";
import { colorByColumn } from "../src/state/coloring";
import { load } from "../src/state/start";
import { Store } from "../src/state/store";

const base64 = (values: Float32Array | Uint16Array): string =>
  btoa(String.fromCharCode(...new Uint8Array(values.buffer)));

const data: ReportData = {
  n: 3,
  axes: ["PC1", "PC2", "PC3", "PC4"].map((name, j) => ({ name, values: base64(Float32Array.of(j, j + 1, j + 2)) })),
  columns: [
    { name: "note", main: false, kind: "text", values: ["x", "y", "z"] },
    { name: "label", main: true, kind: "class", names: ["one", "other"], counts: [2, 1], others: true, values: base64(Uint16Array.of(0, 1, 0)) },
    { name: "size", main: false, kind: "number", low: 1, high: 3, values: base64(Float32Array.of(1, NaN, 3)) },
  ],
  ids: ["a", "b", "c"],
  thumbnails: { width: 8, height: 8, across: 2, sheet: "data:image/png;base64," },
};

describe("a report", () => {
  it("holds one embedding of all axes, colored by the first column of classes or numbers", async () => {
    const store = new Store(new ReportClient(data, "PCA"));
    await load(store);
    expect(store.fault.value).toBeNull();
    expect(store.panels.value[0]).toMatchObject({ name: "PCA", dimensions: 4, axes: ["PC1", "PC2", "PC3", "PC4"] });
    expect([...store.points.get("p0")![3]!]).toEqual([3, 4, 5]);
    expect(store.column(store.colorBy.value)?.name).toBe("label");
    expect(store.title(2)).toBe("c");
  });

  it("draws the gathered classes gray, counts missing numbers, finds pictures on the sheet", async () => {
    const client = new ReportClient(data, "PCA");
    const { columns } = await client.getView();
    const label = columns[1]!;
    const { codes } = colorByColumn(label, await client.getColumn(label));
    expect([...codes]).toEqual([0, 120, 0]);
    expect(columns[2]).toMatchObject({ kind: "number", missing: 1, integer: true });
    expect((await client.getThumbnail(2)).at).toEqual([0, 1]);
  });
});
