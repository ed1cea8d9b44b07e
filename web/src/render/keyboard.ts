// What keys do in a panel that has the focus.
import { choose, select } from "../state/selection";
import { panBy } from "./camera";
import type { PanelView } from "./panel_view";

const STEP_PIXELS = 40;
const ZOOM = 1.3;

/** Act on a key; false where it means nothing here. */
export function pressKey(view: PanelView, key: string): boolean {
  const { store } = view;
  const step = STEP_PIXELS * view.ratio;
  const shift = (dx: number, dy: number): void => { view.move(panBy(view.currentCamera(), dx, dy)); };
  switch (key) {
    case "ArrowLeft": shift(step, 0); break;
    case "ArrowRight": shift(-step, 0); break;
    case "ArrowUp": shift(0, step); break;
    case "ArrowDown": shift(0, -step); break;
    case "+": case "=": view.zoom(ZOOM); break;
    case "-": view.zoom(1 / ZOOM); break;
    case "0": view.showAll(); break;
    case "Enter": view.chooseMiddle(); break;
    case "n": chooseNextNeighbor(view); break;
    case "Escape":
      if (store.chosen.value >= 0) void choose(store, -1);
      else select(store, null);
      break;
    default: return false;
  }
  return true;
}

/** From the chosen point to its nearest true neighbor. */
function chooseNextNeighbor(view: PanelView): void {
  const next = view.store.neighbors.value?.rows[0];
  if (next !== undefined) void choose(view.store, next);
}
