// What the server, a static file and a notebook answer: each shape as a check, and as the type that
// it establishes.
import {
  type Check, type Checked, count, dictionary, either, extended, flag, list, nullable, number, object, oneOf, pair, text,
  unknown, variant,
} from "./schema";

export const fault = object({ code: text, message: text, remedy: text });
export type Fault = Checked<typeof fault>;

const panelInfo = object({
  key: text,
  name: text,
  method: nullable(text),
  parameters: dictionary(unknown),
  dimensions: count,
  axes: list(text),
  extent: list(pair(number, number)),
  /** How many rows it holds; null: all. */
  rows: nullable(count),
  has_model: flag,
  notes: list(text),
});
export type PanelInfo = Checked<typeof panelInfo>;

const base = { key: text, name: text, role: oneOf("label", "id", "feature", "other") };
const categoryColumn = extended(
  { ...base, kind: oneOf("category"), categories: list(text), counts: list(count), missing: count },
  /** The last category gathers all that have no color of their own. */
  { rest: flag },
);
const numberColumn = object({
  ...base,
  kind: oneOf("number"),
  low: number,
  high: number,
  integer: flag,
  missing: count,
  histogram: object({ edges: list(number), counts: list(number) }),
});
const textColumn = object({ ...base, kind: oneOf("text"), longest: count });
const column = variant("kind", { category: categoryColumn, number: numberColumn, text: textColumn });
export type CategoryColumn = Checked<typeof categoryColumn>;
export type NumberColumn = Checked<typeof numberColumn>;
export type TextColumn = Checked<typeof textColumn>;
export type Column = CategoryColumn | NumberColumn | TextColumn;

export const view = object({
  version: oneOf(1),
  mode: oneOf("server", "static", "widget"),
  title: text,
  n: count,
  revision: count,
  panels: list(panelInfo),
  columns: list(column),
  thumbnails: nullable(extended({ width: count, height: count }, { across: count })),
  can: object({
    neighbors: oneOf("server", "table", "none"),
    quality: flag,
    rows: flag,
    search: flag,
    compare: flag,
    new_points: flag,
    move: flag,
    run: flag,
    export: flag,
    export_html: flag,
  }),
  limits: object({ chunk_rows: count, upload_bytes: count, new_rows: count }),
});
export type View = Checked<typeof view>;

// A number that is not finite arrives as null.
const numbers = list(nullable(number));

const measure = object({
  name: text,
  title: text,
  value: number,
  interval: nullable(pair(nullable(number), nullable(number))),
  better: text,
  question: text,
  group: text,
});
export type Measure = Checked<typeof measure>;
const readyQuality = object({
  state: oneOf("ready"),
  verdict: text,
  notes: list(text),
  n_neighbors: count,
  exact: flag,
  evaluated: count,
  measures: list(measure),
  rnx: nullable(object({ k: list(count), value: numbers })),
  shepard: nullable(object({ data: numbers, embedding: numbers })),
  scree: nullable(object({ name: text, values: numbers, share: flag, description: text })),
});
export type ReadyQuality = Checked<typeof readyQuality>;
export const quality = variant("state", {
  computing: object({ state: oneOf("computing"), stage: text, done: number, total: number }),
  failed: object({ state: oneOf("failed"), fault }),
  ready: readyQuality,
});
export type Quality = Checked<typeof quality>;

export interface Evidence {
  false_neighbors: Float32Array;
  missed_neighbors: Float32Array;
  stretch: Float32Array;
  evaluated: Uint8Array;
}
export type EvidenceName = "false_neighbors" | "missed_neighbors" | "stretch";

export const neighbors = object({
  row: count,
  metric: text,
  rows: list(count),
  distances: numbers,
  panels: dictionary(list(count)),
});
export type Neighbors = Checked<typeof neighbors>;

const rowValue = object({ column: text, name: text, value: nullable(either(text, number)) });
export const rowValues = object({ values: list(rowValue) });
export type RowValue = Checked<typeof rowValue>;

export const found = object({ total: count, rows: list(count) });
export type Found = Checked<typeof found>;

export const comparison = object({
  selected: count,
  rest: count,
  columns: list(object({
    column: text,
    name: text,
    kind: oneOf("number", "category"),
    effect: number,
    text,
    selected: nullable(number),
    rest: nullable(number),
    category: nullable(text),
    measure: text,
  })),
});
export type Comparison = Checked<typeof comparison>;

const feature = object({ index: count, name: text, value: number, low: number, high: number });
export const features = object({ features: list(feature) });
export type Feature = Checked<typeof feature>;

const placed = {
  panels: dictionary(object({ coordinates: list(numbers), confidence: nullable(numbers) })),
  failed: list(object({ panel: text, fault })),
};
export const placement = object(placed);
export type Placement = Checked<typeof placement>;
export const newPoints = object({ ...placed, key: text, n: count, ids: nullable(list(text)), notes: list(text) });
export type NewPoints = Checked<typeof newPoints>;

const parameter = object({
  name: text,
  help: text,
  default: unknown,
  kind: oneOf("integer", "number", "boolean", "choice", "text"),
  optional: flag,
  low: nullable(number),
  high: nullable(number),
  low_open: flag,
  high_open: flag,
  choices: nullable(list(text)),
  advanced: flag,
});
export type Parameter = Checked<typeof parameter>;
const method = object({ name: text, title: text, summary: text, live: flag, parameters: list(parameter) });
export const methods = object({ methods: list(method) });
export type Method = Checked<typeof method>;

export const job = object({
  id: text,
  method: text,
  name: text,
  state: oneOf("queued", "running", "done", "failed", "cancelled"),
  stage: text,
  done: number,
  total: number,
  seconds: number,
  seconds_left: nullable(number),
  frame: count,
  panel: nullable(text),
  fault: nullable(fault),
});
export const jobs = object({ jobs: list(job) });
export type Job = Checked<typeof job>;

/** An answer that a static file holds: JSON, or bytes as text. */
export const entries: Check<Record<string, Entry>> = dictionary(extended({ type: text }, { json: unknown, base64: text }));
export interface Entry {
  type: string;
  json?: unknown;
  base64?: string;
}
