// The points of a report (src/lowd/report/points.py) as a data source of the page.
import { extent } from "../render/camera";
import { Client, type Values } from "./client";
import { EmbeddedTransport } from "./transport";
import type { Column, NumberColumn, PanelInfo, View } from "./types";

interface ReportColumn {
  name: string;
  main: boolean;
  kind: "class" | "number" | "text";
  values: string | string[];
  names?: string[];
  counts?: number[];
  others?: boolean;
  low?: number;
  high?: number;
}

export interface ReportData {
  n: number;
  axes: { name: string; values: string }[];
  columns: ReportColumn[];
  ids: string[] | null;
  thumbnails: { width: number; height: number; across: number; sheet: string } | null;
}

const N_BINS = 30; // of histograms

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
    const base = { key, name: column.name, role: first || column.main ? "label" : "other" } as const;
    if (column.kind === "text") {
      this.loaded.set(key, column.values as string[]);
      return { ...base, kind: "text", longest: 0 };
    }
    const bytes = decode(column.values as string);
    if (column.kind === "class") {
      this.loaded.set(key, Int16Array.from(new Uint16Array(bytes)));
      return { ...base, kind: "category", categories: column.names!, counts: column.counts!, missing: 0, rest: column.others ?? false };
    }
    const values = new Float32Array(bytes);
    this.loaded.set(key, values);
    return { ...base, ...describeNumbers(values, column.low!, column.high!) };
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
