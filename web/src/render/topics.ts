// Names of regions from texts: the words that rows of a crowded region share and others have not.
import type { Anchor } from "./labels";

const MAX_TEXTS = 20_000; // read for words: enough for regions of a few per cent
const CELLS = 14; // along each axis
const MAX_REGIONS = 16;
const MIN_ROWS = 5; // fewest rows of a region that have the word
const MIN_SHARE = 0.25; // smallest share of a region's rows that have the word
const MIN_LIFT = 1.5; // times more frequent than in all rows
const MIN_LETTERS = 3;
const WORDS_PER_REGION = 2;

/** Regions of the first two axes, most crowded first, each with its most telling words. */
export function findTopics(axes: readonly Float32Array[], texts: ArrayLike<unknown>): Anchor[] {
  const stride = Math.max(1, Math.ceil(texts.length / MAX_TEXTS));
  const rows: number[] = [];
  for (let i = 0; i < texts.length; i += stride) if (!Number.isNaN(axes[0]![i]!)) rows.push(i);
  const words = wordsOf(texts, rows);
  const everywhere = countWords(rows, words);
  const anchors: Anchor[] = [];
  for (const members of findRegions(axes, rows)) {
    const found = nameRegion(countWords(members, words), members.length, everywhere, rows.length);
    if (!found.length) continue;
    const at = axes.map((axis) => members.reduce((sum, i) => sum + axis[i]!, 0) / members.length);
    anchors.push({ code: -1, text: found.join(", "), x: at[0]!, y: at[1]!, z: at[2] ?? 0, count: members.length });
  }
  return anchors;
}

/** Words of the rows, kept for the next panel: they change with the texts only. */
function wordsOf(texts: ArrayLike<unknown>, rows: readonly number[]): Map<number, Set<string>> {
  const words = kept.get(texts) ?? new Map<number, Set<string>>();
  kept.set(texts, words);
  for (const row of rows) if (!words.has(row)) words.set(row, splitWords(texts[row]));
  return words;
}

const kept = new WeakMap<ArrayLike<unknown>, Map<number, Set<string>>>();

const splitWords = (text: unknown): Set<string> =>
  new Set((typeof text === "string" ? text : "").toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'-]*/gu)?.filter((word) => word.length >= MIN_LETTERS));

function countWords(rows: readonly number[], words: ReadonlyMap<number, ReadonlySet<string>>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) for (const word of words.get(row)!) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Words by their share of the region's rows times the logarithm of how much more frequent they are. */
function nameRegion(here: ReadonlyMap<string, number>, n: number, all: ReadonlyMap<string, number>, total: number): string[] {
  const scored: [number, string][] = [];
  for (const [word, count] of here) {
    const lift = count / n / (all.get(word)! / total);
    if (count >= MIN_ROWS && count / n >= MIN_SHARE && lift >= MIN_LIFT) scored.push([(count / n) * Math.log(lift), word]);
  }
  scored.sort((a, b) => b[0] - a[0] || (a[1] < b[1] ? -1 : 1));
  return scored.slice(0, WORDS_PER_REGION).map(([, word]) => word);
}

/** Rows about the most crowded cells of a grid; a cell beside a taken one begins no region. */
function findRegions(axes: readonly Float32Array[], rows: readonly number[]): number[][] {
  const place = [0, 1].map((j) => {
    const axis = axes[j]!;
    let [low, high] = [Infinity, -Infinity];
    for (const i of rows) [low, high] = [Math.min(low, axis[i]!), Math.max(high, axis[i]!)];
    return (i: number): number => Math.min(CELLS - 1, Math.floor((CELLS * (axis[i]! - low)) / (high - low || 1)));
  });
  const cells = new Map<number, number[]>();
  for (const i of rows) {
    const cell = place[0]!(i) * CELLS + place[1]!(i);
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell)!.push(i);
  }
  const taken = new Set<number>();
  const regions: number[][] = [];
  for (const [cell] of [...cells].sort((a, b) => b[1].length - a[1].length)) {
    if (regions.length >= MAX_REGIONS) break;
    const around = neighborsOf(cell);
    if (around.some((other) => taken.has(other))) continue;
    for (const other of around) taken.add(other);
    regions.push(around.flatMap((other) => cells.get(other) ?? []));
  }
  return regions;
}

/** A cell and those that touch it. */
function neighborsOf(cell: number): number[] {
  const [a, b] = [Math.floor(cell / CELLS), cell % CELLS];
  const found: number[] = [];
  for (let i = Math.max(0, a - 1); i <= Math.min(CELLS - 1, a + 1); i++)
    for (let j = Math.max(0, b - 1); j <= Math.min(CELLS - 1, b + 1); j++) found.push(i * CELLS + j);
  return found;
}
