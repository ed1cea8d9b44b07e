// The explorer in a notebook, by anywidget: the same page with requests to the kernel. The style comes
// from the Python side (src/lowd/explorer/widget.py), since a module comes without a style sheet.
import { effect } from "@preact/signals";
import { Client } from "./data/client";
import { WidgetTransport, type WidgetModel } from "./data/transport";
import { mount } from "./mount";
import { selectedRows } from "./state/selection";

const MAX_SYNCED_ROWS = 1_000_000; // largest selection that is sent to the kernel as row indices

export function renderWidget({ model, el }: { model: WidgetModel; el: HTMLElement }, style: string): () => void {
  const root = el.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];
  el.style.display = "block";
  const place = root.appendChild(document.createElement("div"));
  place.className = "notebook";
  const transport = new WidgetTransport(model);
  const { store, close } = mount(place, new Client(transport), { state: "", linkable: false, embedded: false });
  const stop = effect(() => {
    const selection = store.selection.value;
    if (!store.view.value || (selection && selection.count > MAX_SYNCED_ROWS)) return;
    model.set("selection", selection ? selectedRows(store) : []);
    model.save_changes();
  });
  return () => {
    stop();
    close();
    transport.close();
  };
}
