// What colors, sizes, labels and filters the points.
import { batch, type Signal } from "@preact/signals";
import type { CategoryColumn } from "../data/types";
import { findText } from "./filters";
import { loadColumn, loadEvidence } from "./loading";
import { maskOf } from "./selection";
import type { Store } from "./store";

export async function chooseColor(store: Store, choice: string): Promise<void> {
  if (!choice.startsWith("evidence:")) return chooseColumn(store, store.colorBy, choice);
  store.colorBy.value = choice;
  await Promise.all(store.slots.value.map((slot) => loadEvidence(store, slot.panel)));
}

export async function chooseSize(store: Store, key: string): Promise<void> {
  await chooseColumn(store, store.sizeBy, key);
}

export async function chooseLabels(store: Store, key: string): Promise<void> {
  await chooseColumn(store, store.labelBy, key);
}

/** A column that does not come is not chosen either, so that it can be chosen again. */
async function chooseColumn(store: Store, choice: Signal<string>, key: string): Promise<void> {
  const before = choice.peek();
  choice.value = key;
  await store.attempt(async () => {
    try {
      await loadColumn(store, key);
    } catch (error) {
      if (choice.peek() === key) choice.value = before;
      throw error;
    }
  });
}

/** Hide or show a class; `only` shows nothing else (or everything again). */
export function toggleClass(store: Store, column: CategoryColumn, code: number, only: boolean): void {
  const codes = new Set(store.hidden.value.get(column.key));
  const all = [...column.categories.keys(), ...(column.missing > 0 ? [-1] : [])];
  if (only) {
    const alone = codes.size === all.length - 1 && !codes.has(code);
    codes.clear();
    if (!alone) for (const other of all) if (other !== code) codes.add(other);
  } else if (!codes.delete(code)) codes.add(code);
  store.hidden.value = new Map(store.hidden.value).set(column.key, codes);
}

export async function setRange(store: Store, key: string, range: readonly [number, number] | null): Promise<void> {
  const ranges = new Map(store.ranges.value);
  if (range === null) ranges.delete(key);
  else ranges.set(key, range);
  await store.attempt(async () => {
    if (range !== null) await loadColumn(store, key);
    store.ranges.value = ranges;
  });
}

export async function search(store: Store, text: string): Promise<void> {
  store.query.value = text;
  if (!text.trim()) {
    store.matches.value = null;
    return;
  }
  await store.attempt(async () => {
    const view = store.view.value!;
    const rows = view.can.search ? (await store.client.search(text)).rows : await searchHere(store, text);
    if (store.query.value !== text) return; // a later search is under way
    store.matches.value = maskOf(view.n, rows);
  });
}

async function searchHere(store: Store, text: string): Promise<number[]> {
  const view = store.view.value!;
  const columns = view.columns.filter((column) => column.kind !== "number" || column.role === "id");
  await Promise.all(columns.map((column) => loadColumn(store, column.key)));
  return findText(view.n, text, columns.map((column) => (row: number) => store.textOf(column, row)));
}

export function clearFilters(store: Store): void {
  batch(() => {
    store.hidden.value = new Map();
    store.ranges.value = new Map();
    store.query.value = "";
    store.matches.value = null;
  });
}
