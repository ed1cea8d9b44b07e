import { effect } from "@preact/signals";
import { render } from "preact";
import type { Client } from "./data/client";
import { applyState } from "./state/link";
import { selectedRows } from "./state/selection";
import { load } from "./state/start";
import { Store } from "./state/store";
import { App } from "./ui/app";
import type { Shared } from "./ui/context";

const SELECTION_DELAY = 300; // milliseconds after the last change

/** Keep the selection readable from Python, where a server is behind the page. */
function shareSelection(store: Store): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sent = false;
  return effect(() => {
    const selection = store.selection.value;
    if (store.view.value?.mode !== "server" || (!selection && !sent)) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      sent = true;
      // Only Python would miss it: the page goes on without a message.
      store.client.sendSelection(selectedRows(store)).catch(() => undefined);
    }, SELECTION_DELAY);
  });
}

/** Show the explorer inside an element; returns the state and how to take it away. */
export function mount(
  target: Element, client: Client, options: { state: string; linkable: boolean; embedded: boolean },
): { store: Store; close: () => void } {
  const store = new Store(client);
  const dark = globalThis.matchMedia("(prefers-color-scheme: dark)");
  const follow = (): void => { store.systemDark.value = dark.matches; };
  follow();
  dark.addEventListener("change", follow);
  const shared: Shared = { store, views: new Map(), linkable: options.linkable, embedded: options.embedded };
  render(<App shared={shared} />, target);
  void load(store).then(() => (options.state ? store.attempt(() => applyState(store, options.state)) : undefined));
  const stop = shareSelection(store);
  return {
    store,
    close: () => {
      stop();
      dark.removeEventListener("change", follow);
      render(null, target);
    },
  };
}
