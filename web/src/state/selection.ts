// Selected rows, and the chosen point with its true neighbors.
import { batch } from "@preact/signals";
import { rowsOf } from "./filters";
import type { Store } from "./store";

export const N_NEIGHBORS = 15; // true neighbors shown for a chosen point

export function select(store: Store, mask: Uint8Array | null): void {
  store.comparison.value = null;
  if (mask === null) {
    store.selection.value = null;
    return;
  }
  let count = 0;
  for (const value of mask) count += value;
  store.selection.value = count > 0 ? { mask, count } : null;
}

export function selectRows(store: Store, rows: readonly number[]): void {
  select(store, maskOf(store.view.value!.n, rows));
}

export function selectedRows(store: Store): number[] {
  return store.selection.value ? rowsOf(store.selection.value.mask) : [];
}

export async function compareSelection(store: Store): Promise<void> {
  const rows = selectedRows(store);
  await store.attempt(async () => {
    const found = await store.client.compare(rows);
    store.comparison.value = found;
  });
}

export async function choose(store: Store, row: number): Promise<void> {
  batch(() => {
    store.chosen.value = row;
    store.neighbors.value = null;
    store.moved.value = null;
    if (row >= 0) store.tab.value = "point";
  });
  if (row < 0 || store.view.value?.can.neighbors === "none") return;
  await store.attempt(async () => {
    const found = await store.client.getNeighbors(row, N_NEIGHBORS);
    if (store.chosen.value !== row) return;
    // A static file does not tell who is near in the panels: that is in their coordinates.
    const here = Object.keys(found.panels).length ? found.panels : findNearRows(store, row, found.rows.length);
    store.neighbors.value = { ...found, panels: here };
  });
}

function findNearRows(store: Store, row: number, k: number): Record<string, number[]> {
  const near: Record<string, number[]> = {};
  for (const [key, axes] of store.points) {
    if (Number.isNaN(axes[0]![row]!)) continue;
    const far = axes[0]!.map((_, i) => axes.reduce((sum, axis) => sum + (axis[i]! - axis[row]!) ** 2, 0));
    const others = [...far.keys()].filter((i) => i !== row && !Number.isNaN(far[i]!));
    near[key] = others.sort((i, j) => far[i]! - far[j]!).slice(0, k);
  }
  return near;
}

export function maskOf(n: number, rows: readonly number[]): Uint8Array {
  const mask = new Uint8Array(n);
  for (const row of rows) mask[row] = 1;
  return mask;
}
