// A data source of a few rows in memory, with the same answers as the server's.
import { float32, int16, tableFromArrays, tableToIPC, utf8 } from "@uwdata/flechette";
import type { Reply, Transport } from "../src/data/transport";
import type { Job, View } from "../src/data/types";

const arrow = (columns: Record<string, unknown[]>, types: Record<string, unknown>): Uint8Array =>
  tableToIPC(tableFromArrays(columns as never, { types: types as never }), { format: "stream" })!;

const X = [0, 1, 2, 3, 4, 5, 6];
const Y = [0, 1, 0, 1, 0, 1, NaN];
const CLASSES = [0, 1, 2, 0, 1, 2, -1];
const VALUES = [0, 10, 20, 30, 40, 50, NaN];
const IDS = ["a", "b", "c", "d", "e", "f", "g"];

export function makeView(): View {
  return {
    version: 1, mode: "server", title: "mock", n: 7, revision: 1,
    panels: [
      { key: "p0", name: "PCA", method: "PCA", parameters: {}, dimensions: 2, axes: ["PC1", "PC2"], extent: [[0, 6], [0, 1]], rows: null, has_model: true, notes: [] },
      { key: "p1", name: "t-SNE", method: "TSNE", parameters: {}, dimensions: 2, axes: ["1", "2"], extent: [[0, 6], [0, 1]], rows: 6, has_model: false, notes: [] },
    ],
    columns: [
      { key: "c0", name: "label", role: "label", kind: "category", categories: ["one", "two", "three"], counts: [2, 2, 2], missing: 1 },
      { key: "c1", name: "id", role: "id", kind: "text", longest: 1 },
      { key: "c2", name: "value", role: "other", kind: "number", low: 0, high: 50, integer: true, missing: 1, histogram: { edges: [0, 25, 50], counts: [3, 3] } },
    ],
    thumbnails: null,
    can: { neighbors: "server", quality: true, rows: true, search: true, compare: true, new_points: true, move: true, run: true, export: true, export_html: true },
    limits: { chunk_rows: 3, upload_bytes: 1000, new_rows: 10 },
  };
}

export class MockTransport implements Transport {
  readonly asked: string[] = [];
  view = makeView();
  jobs: Job[] = [];
  answers: Record<string, () => unknown> = {};

  request(method: string, path: string, body?: Uint8Array | string): Promise<Reply> {
    this.asked.push(`${method} ${path}`);
    const [route, query = ""] = path.split("?") as [string, string?];
    const asked = new URLSearchParams(query);
    const [start, stop] = [Number(asked.get("start") ?? 0), Number(asked.get("stop") ?? 7)];
    const cut = <T>(values: T[]): T[] => values.slice(start, stop);
    const json = (value: unknown, status = 200): Reply => ({ status, type: "application/json", body: new TextEncoder().encode(JSON.stringify(value)) });
    const table = (bytes: Uint8Array): Reply => ({ status: 200, type: "application/vnd.apache.arrow.stream", body: bytes });
    const given = this.answers[`${method} ${route}`];
    if (given) return Promise.resolve(json(given()));
    if (route === "/api/view") return Promise.resolve(json(this.view));
    if (/^\/api\/(panels|jobs)\/[^/]+\/points$/.test(route)) return Promise.resolve(table(arrow({ x: cut(X), y: cut(Y) }, { x: float32(), y: float32() })));
    if (route === "/api/columns/c0") return Promise.resolve(table(arrow({ value: cut(CLASSES) }, { value: int16() })));
    if (route === "/api/columns/c1") return Promise.resolve(table(arrow({ value: cut(IDS) }, { value: utf8() })));
    if (route === "/api/columns/c2") return Promise.resolve(table(arrow({ value: cut(VALUES) }, { value: float32() })));
    if (route === "/api/search") return Promise.resolve(json({ total: 1, rows: [IDS.indexOf(asked.get("q") ?? "")] }));
    if (route === "/api/neighbors") return Promise.resolve(json({ row: Number(asked.get("row")), metric: "euclidean", rows: [1, 2], distances: [1, 2], panels: { p0: [1] } }));
    if (route === "/api/jobs" && method === "GET") return Promise.resolve(json({ jobs: this.jobs }));
    if (route === "/api/compare") return Promise.resolve(json({ selected: (JSON.parse(body as string) as { rows: number[] }).rows.length, rest: 0, columns: [] }));
    return Promise.resolve(json({ code: "not_found", message: `no ${route}`, remedy: "Reload." }, 404));
  }
}
