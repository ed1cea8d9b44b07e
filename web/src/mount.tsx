import { render } from "preact";
import type { Client } from "./data/client";
import { Store } from "./state/store";
import { applyState } from "./state/link";
import { App } from "./ui/app";
import type { Shared } from "./ui/context";

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
  void store.load().then(() => (options.state ? store.attempt(() => applyState(store, options.state)) : undefined));
  return {
    store,
    close: () => {
      dark.removeEventListener("change", follow);
      render(null, target);
    },
  };
}
