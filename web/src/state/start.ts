// The first state: the view, its first panels and their colors.
import { batch } from "@preact/signals";
import { faultOf } from "../data/transport";
import type { View } from "../data/types";
import { shuffledOrder } from "../render/raster";
import { chooseColor, chooseLabels } from "./choices";
import { pollJobs } from "./jobs";
import { makeSlot } from "./layout";
import { loadColumn, loadPoints } from "./loading";
import { MAX_PANELS, type Store } from "./store";

const MAX_ROWS_COLUMNS_TEXT = 200_000; // more texts are not loaded into the page

export async function load(store: Store): Promise<void> {
  try {
    const view = await store.client.getView();
    const label = view.columns.find((column) => column.role === "label");
    store.order = shuffledOrder(view.n);
    batch(() => {
      store.view.value = view;
      store.slots.value = view.panels.slice(0, MAX_PANELS).map((panel) => makeSlot(store, panel));
      store.loading.value = "coordinates";
    });
    // Whatever does not come is reported where it is missing, and the page goes on with the rest.
    await Promise.all([
      ...store.slots.value.map((slot) => loadPoints(store, slot.panel)),
      ...columnsForTitle(store).map((key) => store.attempt(() => loadColumn(store, key))),
      chooseColor(store, label?.key ?? ""),
    ]);
    store.loading.value = "";
    void chooseLabels(store, findNames(view));
    // Texts appear at hovered and selected points; nothing waits for them.
    if (view.n <= MAX_ROWS_COLUMNS_TEXT)
      for (const column of view.columns) if (column.kind === "text") void store.attempt(() => loadColumn(store, column.key));
    if (view.can.run) await pollJobs(store);
  } catch (error) {
    store.fault.value = faultOf(error);
  }
}

/** The column that names clusters: the classes, or without a label the words of a text. */
function findNames({ columns, n }: View): string {
  const label = columns.find((column) => column.role === "label");
  if (label) return label.kind === "category" ? label.key : "";
  const text = columns.find((column) => column.kind === "text" && column.role !== "id");
  return text && n <= MAX_ROWS_COLUMNS_TEXT ? text.key : "";
}

function columnsForTitle(store: Store): string[] {
  const view = store.view.value!;
  return view.n > MAX_ROWS_COLUMNS_TEXT
    ? []
    : view.columns.filter((column) => column.role === "id").map((column) => column.key);
}
