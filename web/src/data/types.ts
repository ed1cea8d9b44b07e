// What the server answers, as in docs: one interface for server, static file and notebook.

export interface Fault {
  code: string;
  message: string;
  remedy: string;
}

export interface PanelInfo {
  key: string;
  name: string;
  method: string | null;
  parameters: Record<string, unknown>;
  dimensions: number;
  axes: string[];
  extent: [number, number][];
  /** How many rows it holds; null: all. */
  rows: number | null;
  has_model: boolean;
  notes: string[];
}

interface ColumnBase {
  key: string;
  name: string;
  role: "label" | "id" | "feature" | "other";
}
export interface CategoryColumn extends ColumnBase {
  kind: "category";
  categories: string[];
  counts: number[];
  missing: number;
  /** The last category gathers all that have no color of their own. */
  rest?: boolean;
}
export interface NumberColumn extends ColumnBase {
  kind: "number";
  low: number;
  high: number;
  integer: boolean;
  missing: number;
  histogram: { edges: number[]; counts: number[] };
}
export interface TextColumn extends ColumnBase {
  kind: "text";
  longest: number;
}
export type Column = CategoryColumn | NumberColumn | TextColumn;

export interface View {
  version: 1;
  mode: "server" | "static" | "widget";
  title: string;
  n: number;
  revision: number;
  panels: PanelInfo[];
  columns: Column[];
  thumbnails: { width: number; height: number; across?: number } | null;
  can: {
    neighbors: "server" | "table" | "none";
    quality: boolean;
    rows: boolean;
    search: boolean;
    compare: boolean;
    new_points: boolean;
    move: boolean;
    run: boolean;
    export: boolean;
    export_html: boolean;
  };
  limits: { chunk_rows: number; upload_bytes: number; new_rows: number };
}

export interface Measure {
  name: string;
  title: string;
  value: number;
  interval: [number, number] | null;
  better: string;
  question: string;
  group: string;
}
export interface ReadyQuality {
  state: "ready";
  verdict: string;
  notes: string[];
  n_neighbors: number;
  exact: boolean;
  evaluated: number;
  measures: Measure[];
  rnx: { k: number[]; value: number[] } | null;
  shepard: { data: number[]; embedding: number[] } | null;
  scree: { name: string; values: number[]; share: boolean; description: string } | null;
}
export type Quality =
  | { state: "computing"; stage: string; done: number; total: number }
  | { state: "failed"; fault: Fault }
  | ReadyQuality;

export interface Evidence {
  false_neighbors: Float32Array;
  missed_neighbors: Float32Array;
  stretch: Float32Array;
  evaluated: Uint8Array;
}
export type EvidenceName = "false_neighbors" | "missed_neighbors" | "stretch";

export interface Neighbors {
  row: number;
  metric: string;
  rows: number[];
  distances: number[];
  panels: Record<string, number[]>;
}

export interface RowValue {
  column: string;
  name: string;
  value: string | number | null;
}

export interface Comparison {
  selected: number;
  rest: number;
  columns: {
    column: string;
    name: string;
    kind: "number" | "category";
    effect: number;
    text: string;
    selected: number | null;
    rest: number | null;
    category: string | null;
    measure: string;
  }[];
}

export interface Feature {
  index: number;
  name: string;
  value: number;
  low: number;
  high: number;
}

export interface Placement {
  panels: Record<string, { coordinates: (number | null)[][]; confidence: (number | null)[] | null }>;
  failed: { panel: string; fault: Fault }[];
}
export type NewPoints = Placement & {
  key: string;
  n: number;
  ids: string[] | null;
  notes: string[];
};

export interface Parameter {
  name: string;
  help: string;
  default: unknown;
  kind: "integer" | "number" | "boolean" | "choice" | "text";
  optional: boolean;
  low: number | null;
  high: number | null;
  low_open: boolean;
  high_open: boolean;
  choices: string[] | null;
  advanced: boolean;
}
export interface Method {
  name: string;
  title: string;
  summary: string;
  live: boolean;
  parameters: Parameter[];
}
export interface Job {
  id: string;
  method: string;
  name: string;
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  stage: string;
  done: number;
  total: number;
  seconds: number;
  seconds_left: number | null;
  frame: number;
  panel: string | null;
  fault: Fault | null;
}
