import type { JSX } from "preact";
import { useStore } from "./context";
import { FilterBox } from "./filters";
import { LegendBox } from "./legend";
import { SelectionBox } from "./selection";

export function ExploreTab(): JSX.Element {
  const store = useStore();
  const view = store.view.value!;
  const numbers = view.columns.filter((column) => column.kind === "number");
  const classes = view.columns.filter((column) => column.kind === "category");
  return (
    <>
      <SelectionBox />
      <section class="box"><LegendBox />
        {numbers.length > 0 && (
          <label class="field"><span>Size</span>
            <select value={store.sizeBy.value} onChange={(event) => void store.chooseSize(event.currentTarget.value)}>
              <option value="">all alike</option>
              {numbers.map((column) => <option key={column.key} value={column.key}>{column.name}</option>)}
            </select>
          </label>
        )}
        {classes.length > 0 && (
          <label class="field"><span>Labels</span>
            <select value={store.labelBy.value} onChange={(event) => void store.chooseLabels(event.currentTarget.value)}>
              <option value="">none</option>
              {classes.map((column) => <option key={column.key} value={column.key}>{column.name}</option>)}
            </select>
          </label>
        )}
      </section>
      <FilterBox />
    </>
  );
}
