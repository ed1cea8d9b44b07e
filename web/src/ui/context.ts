import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { PanelView } from "../render/panel_view";
import type { Store } from "../state/store";

/** What components share: the state, the panels' views (for export), and the host's powers. */
export interface Shared {
  store: Store;
  views: Map<number, PanelView>;
  /** Where dialogs and downloads happen; a notebook has no link of its own. */
  linkable: boolean;
  /** Part of a page with its own title, theme and evidence: a report. */
  embedded: boolean;
}

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  return useContext(SharedContext)!;
}

export const useStore = (): Store => useShared().store;

export const count = (n: number): string => n.toLocaleString("en-US");
export const plural = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
