import type { JSX } from "preact";
import { chooseLabels, chooseSize } from "../state/choices";
import { useStore } from "./context";
import { FilterBox } from "./filters";
import { LegendBox } from "./legend";
import { SelectionBox } from "./selection";

export function ExploreTab(): JSX.Element {
  const store = useStore();
  const view = store.view.value!;
  const numbers = view.columns.filter((column) => column.kind === "number");
  const names = view.columns.filter((column) => column.kind === "category" || (column.kind === "text" && column.role !== "id"));
  if (!view.columns.length)
    return (
      <>
        <SelectionBox />
        <section class="box empty">
          <h2>No columns</h2>
          <p>Only coordinates are known. Columns of the file, or <code>labels=</code> and <code>columns=</code> of <code>lowd.view</code>, give colors, filters and search.</p>
        </section>
      </>
    );
  return (
    <>
      <SelectionBox />
      <section class="box"><LegendBox />
        {numbers.length > 0 && (
          <label class="field"><span>Size</span>
            <select value={store.sizeBy.value} onChange={(event) => void chooseSize(store, event.currentTarget.value)}>
              <option value="">all alike</option>
              {numbers.map((column) => <option key={column.key} value={column.key}>{column.name}</option>)}
            </select>
          </label>
        )}
        {names.length > 0 && (
          <label class="field"><span>Labels</span>
            <select value={store.labelBy.value} onChange={(event) => void chooseLabels(store, event.currentTarget.value)}>
              <option value="">none</option>
              {names.map((column) => <option key={column.key} value={column.key}>{column.name}</option>)}
            </select>
          </label>
        )}
      </section>
      <FilterBox />
    </>
  );
}
