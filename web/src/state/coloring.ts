// From values of rows to codes of looks: which color, faded or hidden.
import type { Values } from "../data/client";
import type { Column, EvidenceName } from "../data/types";
import {
  classColor, classShape, MISSING, type Rgb, type ScaleName, shade, type Theme,
} from "../render/colors";
import type { Look } from "../render/raster";

/** Codes below are colors; the same with FADED added are faded; HIDDEN draws nothing. */
export const MAX_CLASS_COLORS = 60; // ten colors in six shapes
const LEVELS = 100; // colors of a continuous scale
const MISSING_CODE = 120;
export const FADED = 128;
export const HIDDEN = 255;
const FADED_WEIGHT = 0.16;

export type Legend =
  | { kind: "none" }
  | { kind: "classes"; column: string; names: string[]; counts: number[]; missing: number }
  | { kind: "scale"; title: string; scale: ScaleName; low: number; high: number; missing: number; note: string };

export interface Coloring {
  codes: Uint8Array;
  legend: Legend;
}

export function colorPlain(n: number): Coloring {
  return { codes: new Uint8Array(n), legend: { kind: "none" } };
}

export function colorByColumn(column: Column, values: Values): Coloring {
  const n = values.length;
  const codes = new Uint8Array(n);
  if (column.kind === "category") {
    const classes = values as Int16Array;
    const colored = Math.min(MAX_CLASS_COLORS, column.rest ? column.categories.length - 1 : MAX_CLASS_COLORS);
    for (let i = 0; i < n; i++) {
      const value = classes[i]!;
      codes[i] = value < 0 || value >= colored ? MISSING_CODE : value;
    }
    const { categories: names, counts, missing } = column;
    return { codes, legend: { kind: "classes", column: column.key, names, counts, missing } };
  }
  if (column.kind === "text") return colorPlain(n);
  fillLevels(values as Float32Array, column.low, column.high, codes);
  const { low, high, missing } = column;
  return {
    codes,
    legend: { kind: "scale", title: column.name, scale: "values", low, high, missing, note: "" },
  };
}

export const EVIDENCE_TITLES: Record<EvidenceName, string> = {
  false_neighbors: "false neighbors",
  missed_neighbors: "missed neighbors",
  stretch: "stretch",
};

const EVIDENCE_NOTES: Record<EvidenceName, string> = {
  false_neighbors: "How far the neighbors in this map are from being neighbors in the data: 0 none are false.",
  missed_neighbors: "How far neighbors in the data have moved away in this map: 0 none are missed.",
  stretch: "Local distances here, against the typical ones of this map: +1 twice as far apart, −1 half.",
};

const MAX_STRETCH = 3; // doublings; more is drawn as this
const STRONG_ERROR = 0.5; // pointwise error drawn in the strongest color

export function colorByEvidence(name: EvidenceName, values: Float32Array): Coloring {
  const codes = new Uint8Array(values.length);
  const diverging = name === "stretch";
  const [low, high] = diverging ? [-MAX_STRETCH, MAX_STRETCH] : [0, STRONG_ERROR];
  fillLevels(values, low, high, codes);
  return {
    codes,
    legend: {
      kind: "scale",
      title: EVIDENCE_TITLES[name],
      scale: diverging ? "diverging" : "errors",
      low,
      high,
      missing: 0,
      note: EVIDENCE_NOTES[name],
    },
  };
}

function fillLevels(values: Float32Array, low: number, high: number, codes: Uint8Array): void {
  const perUnit = (LEVELS - 1) / (high - low || 1);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    const level = (value - low) * perUnit;
    codes[i] = value !== value ? MISSING_CODE : level <= 0 ? 0 : level >= LEVELS - 1 ? LEVELS - 1 : (level + 0.5) | 0;
  }
}

/** The looks of all 256 codes. */
export function makeLooks(legend: Legend, theme: Theme): Look[] {
  const looks: Look[] = [];
  for (let code = 0; code < 256; code++) {
    const base = code % FADED;
    const color = colorOf(legend, theme, base);
    const faded = code >= FADED;
    const shape = legend.kind === "classes" && base < MAX_CLASS_COLORS ? classShape(base) : 0;
    const [red, green, blue] = faded ? blend(color, MISSING[theme], 0.6) : color;
    looks.push({ red, green, blue, shape, weight: faded ? FADED_WEIGHT : 1 });
  }
  looks[HIDDEN] = { red: 0, green: 0, blue: 0, shape: 0, weight: 0 };
  return looks;
}

function colorOf(legend: Legend, theme: Theme, code: number): Rgb {
  if (code === MISSING_CODE) return MISSING[theme];
  if (legend.kind === "scale") return shade(legend.scale, theme, code / (LEVELS - 1));
  if (legend.kind === "classes" && code >= MAX_CLASS_COLORS) return MISSING[theme];
  return classColor(theme, legend.kind === "none" ? (theme === "dark" ? 8 : 0) : code);
}

const blend = (a: Rgb, b: Rgb, share: number): Rgb =>
  a.map((c, i) => Math.round(c + (b[i]! - c) * share)) as unknown as Rgb;

/** Hide what the filters leave out, fade what the selection leaves out. */
export function applyMasks(
  codes: Uint8Array, visible: Uint8Array | null, selected: Uint8Array | null,
): Uint8Array {
  if (visible === null && selected === null) return codes;
  const out = new Uint8Array(codes.length);
  for (let i = 0; i < codes.length; i++)
    out[i] =
      visible !== null && visible[i] === 0
        ? HIDDEN
        : selected !== null && selected[i] === 0
          ? codes[i]! | FADED
          : codes[i]!;
  return out;
}
