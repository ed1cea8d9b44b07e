// Which embeddings are on the screen, and where.
import { batch } from "@preact/signals";
import type { PanelInfo } from "../data/types";
import { loadEvidence, loadPoints } from "./loading";
import { MAX_PANELS, type Slot, type Store } from "./store";

export function makeSlot(store: Store, panel: PanelInfo): Slot {
  return { id: store.nextSlot++, panel: panel.key, axes: [0, 1], spatial: false };
}

export async function addSlot(store: Store, key: string): Promise<void> {
  const panel = store.panel(key);
  if (!panel) return;
  if (store.slots.value.length < MAX_PANELS) store.slots.value = [...store.slots.value, makeSlot(store, panel)];
  else store.slots.value = [...store.slots.value.slice(0, -1), makeSlot(store, panel)];
  await loadPoints(store, key);
  if (store.evidenceName()) await loadEvidence(store, key);
}

export async function changeSlot(store: Store, id: number, change: Partial<Slot>): Promise<void> {
  if (change.panel !== undefined || change.axes !== undefined || change.spatial !== undefined)
    store.cameras.delete(id);
  store.slots.value = store.slots.value.map((slot) => (slot.id === id ? { ...slot, ...change } : slot));
  const key = change.panel;
  if (key === undefined) return;
  await loadPoints(store, key);
  if (store.evidenceName()) await loadEvidence(store, key);
}

export function removeSlot(store: Store, id: number): void {
  batch(() => {
    store.slots.value = store.slots.value.filter((slot) => slot.id !== id);
    store.focus.value = Math.min(store.focus.value, Math.max(0, store.slots.value.length - 1));
  });
  store.cameras.delete(id);
}
