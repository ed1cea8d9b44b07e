// Which rows the filters leave, and what can be counted of them.
import type { Values } from "../data/client";
import type { NumberColumn } from "../data/types";

export interface Filters {
  /** Hidden codes of category columns, by column key. */
  hidden: ReadonlyMap<string, ReadonlySet<number>>;
  /** Kept ranges of number columns, by column key. */
  ranges: ReadonlyMap<string, readonly [number, number]>;
  /** Rows that the search found; null without a search. */
  matches: Uint8Array | null;
}

/** 1 for each row that passes; null if nothing is filtered. */
export function applyFilters(n: number, filters: Filters, columns: ReadonlyMap<string, Values>): Uint8Array | null {
  const { hidden, ranges, matches } = filters;
  const classes = [...hidden].filter(([key, codes]) => codes.size > 0 && columns.has(key));
  const spans = [...ranges].filter(([key]) => columns.has(key));
  if (!classes.length && !spans.length && matches === null) return null;
  const visible = matches === null ? new Uint8Array(n).fill(1) : matches.slice();
  for (const [key, codes] of classes) {
    const values = columns.get(key) as Int16Array;
    // Code -1 (missing) is at index 0.
    const kept = new Uint8Array(32769).fill(1);
    for (const code of codes) kept[code + 1] = 0;
    for (let i = 0; i < n; i++) visible[i] = visible[i]! & kept[values[i]! + 1]!;
  }
  for (const [key, range] of spans) {
    // The values are rounded to 32 bits; so are the ends, or the largest value could lie beyond its own.
    const [low, high] = range.map(Math.fround) as [number, number];
    const values = columns.get(key) as Float32Array;
    for (let i = 0; i < n; i++) {
      const value = values[i]!;
      if (!(value >= low && value <= high)) visible[i] = 0;
    }
  }
  return visible;
}

/** Number of rows per class among those of a mask. */
export function countClasses(values: Int16Array, nClasses: number, mask: Uint8Array | null): Uint32Array {
  const counts = new Uint32Array(nClasses + 1); // the last one: missing
  for (let i = 0; i < values.length; i++)
    if (mask === null || mask[i] !== 0) {
      const code = values[i]!;
      const at = code < 0 ? nClasses : code;
      counts[at] = counts[at]! + 1;
    }
  return counts;
}

/** Histogram of a mask's rows over the bins of the column. */
export function countBins(column: NumberColumn, values: Float32Array, mask: Uint8Array | null): Uint32Array {
  const bins = column.histogram.counts.length;
  const counts = new Uint32Array(bins);
  const perUnit = bins / (column.high - column.low || 1);
  for (let i = 0; i < values.length; i++)
    if (mask === null || mask[i] !== 0) {
      const value = values[i]!;
      if (!(value >= column.low && value <= column.high)) continue; // missing
      const at = Math.min(bins - 1, ((value - column.low) * perUnit) | 0);
      counts[at] = counts[at]! + 1;
    }
  return counts;
}

export function rowsOf(mask: Uint8Array): number[] {
  const rows: number[] = [];
  for (let i = 0; i < mask.length; i++) if (mask[i] !== 0) rows.push(i);
  return rows;
}

/** Rows whose texts contain a needle, ignoring case; columns may be texts or classes. */
export function findText(n: number, needle: string, texts: readonly ((row: number) => string)[]): number[] {
  const wanted = needle.toLowerCase();
  const rows: number[] = [];
  for (let i = 0; i < n; i++)
    if (texts.some((text) => text(i).toLowerCase().includes(wanted))) rows.push(i);
  return rows;
}
