// The state of the page as text for a link, and back.
import { batch } from "@preact/signals";
import { type Check, type Checked, count, extended, flag, list, Mismatch, nullable, number, object, oneOf, pair, text } from "../data/schema";
import { chooseColor, chooseLabels, chooseSize, search } from "./choices";
import { loadColumn, loadPoints } from "./loading";
import { choose, selectRows, selectedRows } from "./selection";
import { MAX_PANELS, type Slot, type Store } from "./store";

const PREFIX = "v1=";
const MAX_LINK_ROWS = 5000; // a link to a larger selection would be too long for a browser

const scale: Check<number> = (value, path) => {
  if (number(value, path) <= 0) throw new Mismatch(path, "positive");
  return value as number;
};
// A link may be of another version or typed by hand: every part is checked, and may be absent.
const savedState = extended({}, {
  slots: list(object({
    panel: text,
    axes: pair(count, count),
    spatial: flag,
    camera: nullable(object({ x: number, y: number, scale, yaw: number, pitch: number })),
  })),
  color: text,
  size: text,
  labels: text,
  hidden: list(pair(text, list(number))),
  ranges: list(pair(text, pair(number, number))),
  query: text,
  rows: nullable(list(number)),
  chosen: number,
  tab: oneOf("explore", "point", "evidence", "add", "run"),
  theme: oneOf("auto", "light", "dark"),
});
type Saved = Checked<typeof savedState>;

export function encodeState(store: Store): string {
  const selection = store.selection.value;
  const saved: Required<Saved> = {
    slots: store.slots.value
      .filter((slot) => !slot.panel.startsWith("live:"))
      .map(({ id, panel, axes, spatial }) => ({ panel, axes, spatial, camera: store.cameras.get(id) ?? null })),
    color: store.colorBy.value,
    size: store.sizeBy.value,
    labels: store.labelBy.value,
    hidden: [...store.hidden.value].map(([key, codes]) => [key, [...codes]]),
    ranges: [...store.ranges.value].map(([key, [low, high]]) => [key, [low, high]]),
    query: store.query.value,
    rows: selection && selection.count <= MAX_LINK_ROWS ? selectedRows(store) : null,
    chosen: store.chosen.value,
    tab: store.tab.value,
    theme: store.themeChoice.value,
  };
  return PREFIX + toBase64(JSON.stringify(saved));
}

/** Bring the page into a saved state; what no longer exists is left out. */
export async function applyState(store: Store, link: string): Promise<void> {
  const saved = decodeState(link);
  const view = store.view.value;
  if (!saved || !view) return;
  const known = (key: string): boolean => store.column(key) !== undefined;
  const slots = (saved.slots ?? []).filter((slot) => store.panel(slot.panel)).slice(0, MAX_PANELS);
  batch(() => {
    if (slots.length) {
      store.slots.value = slots.map(({ panel, axes, spatial }, i): Slot => ({ id: -1 - i, panel, axes, spatial }));
      slots.forEach(({ camera }, i) => { if (camera) store.cameras.set(-1 - i, camera); });
    }
    store.themeChoice.value = saved.theme ?? "auto";
    store.hidden.value = new Map((saved.hidden ?? []).filter(([key]) => known(key)).map(([key, codes]) => [key, new Set(codes)]));
    store.ranges.value = new Map((saved.ranges ?? []).filter(([key]) => known(key)));
  });
  await Promise.all([
    ...store.slots.value.map((slot) => loadPoints(store, slot.panel)),
    chooseColor(store, saved.color ?? ""),
    chooseSize(store, saved.size ?? ""),
    chooseLabels(store, saved.labels ?? ""),
    ...[...store.hidden.value.keys(), ...store.ranges.value.keys()].map((key) => loadColumn(store, key)),
    saved.query ? search(store, saved.query) : undefined,
  ]);
  const rows = (saved.rows ?? []).filter((row) => Number.isInteger(row) && row >= 0 && row < view.n);
  if (rows.length) selectRows(store, rows);
  if (saved.chosen !== undefined && saved.chosen >= 0 && saved.chosen < view.n) await choose(store, saved.chosen);
  store.tab.value = saved.tab ?? "explore";
}

/** Null for a text that is not a state. */
export function decodeState(link: string): Saved | null {
  const body = link.replace(/^#/, "");
  if (!body.startsWith(PREFIX)) return null;
  try {
    return savedState(JSON.parse(fromBase64(body.slice(PREFIX.length))), "state");
  } catch {
    return null;
  }
}

function toBase64(plain: string): string {
  const bytes = new TextEncoder().encode(plain);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function fromBase64(coded: string): string {
  const binary = atob(coded.replace(/-/g, "+").replace(/_/g, "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (letter) => letter.charCodeAt(0)));
}
