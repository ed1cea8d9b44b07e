// Rows that were dropped or pasted: their coordinates in every panel with a model.
import type { Store } from "./store";

export async function addPoints(store: Store, name: string, content: Uint8Array<ArrayBuffer> | string): Promise<void> {
  await store.attempt(async () => {
    const found = await store.client.addPoints(name, content);
    store.added.value = [...store.added.value, found];
    store.tell(`${found.n} new ${found.n === 1 ? "point" : "points"} added.`);
  });
}

export async function removeAdded(store: Store, key: string): Promise<void> {
  await store.attempt(async () => {
    await store.client.deletePoints(key);
    store.added.value = store.added.value.filter((points) => points.key !== key);
  });
}
