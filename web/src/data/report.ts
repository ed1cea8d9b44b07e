// The points of a report (src/lowd/report/page.py) as a data source of the page.
import { extent } from "../render/camera";
import { Client, type Values } from "./client";
import { type Checked, count, flag, list, nullable, number, object, oneOf, text, variant } from "./schema";
import { EmbeddedTransport } from "./transport";
import type { Column, NumberColumn, PanelInfo, View } from "./types";

const base = { name: text, main: flag };
const reportColumn = variant("kind", {
  class: object({ ...base, kind: oneOf("class"), values: text, names: list(text), counts: list(count), others: flag }),
  number: object({ ...base, kind: oneOf("number"), values: text, low: number, high: number }),
  text: object({ ...base, kind: oneOf("text"), values: list(text) }),
});
type ReportColumn = Checked<typeof reportColumn>;

/** Arrays are bytes in base64: float32, and uint16 for classes. */
export const reportData = object({
  n: count,
  axes: list(object({ name: text, values: text })),
  columns: list(reportColumn),
  ids: nullable(list(text)),
  thumbnails: nullable(object({ width: count, height: count, across: count, sheet: text })),
});
export type ReportData = Checked<typeof reportData>;

const N_BINS = 30; // bins of a histogram

const decode = (text: string): ArrayBuffer => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;

/** One embedding with its columns; what needs the data or a model is absent. */
export class ReportClient extends Client {
  private readonly columns: Column[];
  private readonly loaded = new Map<string, Values>();
  private readonly axes: Float32Array[];

  constructor(private readonly data: ReportData, private readonly name: string) {
    super(new EmbeddedTransport({}));
    this.axes = data.axes.map((axis) => new Float32Array(decode(axis.values)));
    const first = data.columns.findIndex((column) => column.kind !== "text");
    this.columns = data.columns.map((column, i) => this.describe(column, `c${i}`, i === first));
    if (data.ids) {
      this.columns.push({ key: "id", name: "id", role: "id", kind: "text", longest: 0 });
      this.loaded.set("id", data.ids);
    }
  }

  private describe(column: ReportColumn, key: string, first: boolean): Column {
    const named = { key, name: column.name, role: first || column.main ? "label" : "other" } as const;
    if (column.kind === "text") {
      this.loaded.set(key, column.values);
      return { ...named, kind: "text", longest: 0 };
    }
    const bytes = decode(column.values);
    if (column.kind === "class") {
      this.loaded.set(key, Int16Array.from(new Uint16Array(bytes)));
      return { ...named, kind: "category", categories: column.names, counts: column.counts, missing: 0, rest: column.others };
    }
    const values = new Float32Array(bytes);
    this.loaded.set(key, values);
    return { ...named, ...describeNumbers(values, column.low, column.high) };
  }

  override getView(): Promise<View> {
    const panel: PanelInfo = {
      key: "p0", name: this.name, method: null, parameters: {}, dimensions: this.axes.length,
      axes: this.data.axes.map((axis) => axis.name), extent: this.axes.map((axis) => extent(axis)),
      rows: null, has_model: false, notes: [],
    };
    return Promise.resolve({
      version: 1, mode: "static", title: "", n: this.data.n, revision: 1, panels: [panel], columns: this.columns,
      thumbnails: this.data.thumbnails,
      can: {
        neighbors: "none", quality: false, rows: false, search: false, compare: false, new_points: false,
        move: false, run: false, export: false, export_html: false,
      },
      limits: { chunk_rows: this.data.n, upload_bytes: 0, new_rows: 0 },
    });
  }

  override getPoints(_: PanelInfo, report?: () => void, into?: Float32Array[]): Promise<Float32Array[]> {
    into?.forEach((axis, j) => { if (this.axes[j]) axis.set(this.axes[j]); });
    report?.();
    return Promise.resolve(into ?? this.axes);
  }

  override getColumn(column: Column): Promise<Values> {
    return Promise.resolve(this.loaded.get(column.key)!);
  }

  override getThumbnail(row: number): Promise<{ url: string; at: [number, number] | null }> {
    const { across, sheet } = this.data.thumbnails!;
    return Promise.resolve({ url: sheet, at: [row % across, Math.floor(row / across)] });
  }
}

type NumberFacts = Omit<NumberColumn, "key" | "name" | "role">;

function describeNumbers(values: Float32Array, low: number, high: number): NumberFacts {
  const counts = new Array<number>(N_BINS).fill(0);
  let missing = 0;
  let integer = true;
  for (const value of values) {
    if (Number.isNaN(value)) {
      missing++;
      continue;
    }
    integer &&= Number.isInteger(value);
    const bin = Math.max(0, Math.min(N_BINS - 1, Math.floor(((value - low) / (high - low || 1)) * N_BINS)));
    counts[bin] = counts[bin]! + 1;
  }
  const edges = Array.from({ length: N_BINS + 1 }, (_, i) => low + ((high - low) * i) / N_BINS);
  return { kind: "number", low, high, integer, missing, histogram: { edges, counts } };
}
