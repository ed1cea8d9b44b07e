// The selected rows: pictures, comparison with the remaining rows, what can be done with them.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { formatNumber } from "../state/format";
import { choose, compareSelection, select, selectedRows } from "../state/selection";
import { Bar } from "./bar";
import { count, plural, useStore } from "./context";
import { Thumbnail } from "./thumbnail";

const MAX_PICTURES = 18;
const MAX_TEXTS = 6;
const MAX_COMPARED = 12;
const MAX_COMPARE_ROWS = 500_000; // more would make the request larger than the server takes

export function SelectionBox(): JSX.Element | null {
  const store = useStore();
  const selection = store.selection.value;
  const view = store.view.value!;
  useEffect(() => {
    if (selection && view.can.compare && selection.count < view.n && selection.count <= MAX_COMPARE_ROWS)
      void compareSelection(store);
  }, [selection]);
  if (!selection) return null;
  const share = ((100 * selection.count) / view.n).toFixed(1);
  return (
    <section class="box selection">
      <h2>{plural(selection.count, "selected row")} <small>{share} %</small></h2>
      <div class="actions">
        <button type="button" onClick={() => { select(store, null); }}>Clear</button>
        <button type="button" onClick={() => { store.matches.value = selection.mask.slice(); }}>Show only these</button>
        {view.can.run && <button type="button" onClick={() => { store.tab.value = "run"; }}>Embed these…</button>}
      </div>
      {view.thumbnails ? <Pictures /> : <Texts />}
      <Comparison selected={selection.count} />
    </section>
  );
}

function Pictures(): JSX.Element {
  const store = useStore();
  const some = spreadOver(selectedRows(store), MAX_PICTURES);
  return (
    <div class="pictures">
      {some.map((row) => (
        <button key={row} type="button" aria-label={`choose ${store.title(row)}`} onClick={() => void choose(store, row)}>
          <Thumbnail row={row} size={32} />
        </button>
      ))}
    </div>
  );
}

/** What some of the selected rows say, where there is a column of text and it is loaded. */
function Texts(): JSX.Element | null {
  const store = useStore();
  void store.columnsVersion.value;
  const column = store.view.value!.columns.find((other) => other.kind === "text" && other.role !== "id");
  if (!column || !store.values.has(column.key)) return null;
  return (
    <ul class="texts" aria-label={column.name}>
      {spreadOver(selectedRows(store), MAX_TEXTS).map((row) => (
        <li key={row}><button type="button" class="link" onClick={() => void choose(store, row)}>{store.textOf(column, row)}</button></li>
      ))}
    </ul>
  );
}

/** So many of the rows, from the first to the last. */
function spreadOver(rows: readonly number[], most: number): number[] {
  const stride = Math.max(1, Math.floor(rows.length / most));
  return rows.filter((_, i) => i % stride === 0).slice(0, most);
}

function Comparison({ selected }: { selected: number }): JSX.Element | null {
  const store = useStore();
  const found = store.comparison.value;
  const view = store.view.value!;
  if (!view.can.compare) return null;
  if (selected === view.n) return <p class="soft">These are all rows. Select fewer to compare them with the remaining ones.</p>;
  if (selected > MAX_COMPARE_ROWS) return <p class="soft">Select at most {count(MAX_COMPARE_ROWS)} rows to compare them with the remaining ones.</p>;
  if (!found) return <p class="soft">Comparing with the remaining rows…</p>;
  const columns = found.columns.slice(0, MAX_COMPARED);
  if (!columns.length) return <p class="soft">No column differs between these and the remaining {count(found.rest)} rows.</p>;
  const largest = Math.max(...columns.map((column) => Math.abs(column.effect)), 1e-9);
  return (
    <>
      <h3>Differs most from the rest</h3>
      <table class="compare">
        <thead><tr><th scope="col">column</th><th scope="col">here</th><th scope="col">rest</th><th scope="col">effect</th></tr></thead>
        <tbody>
          {columns.map((column, i) => (
            <tr key={i} title={column.text}>
              <th scope="row">{column.category === null ? column.name : `${column.name} = ${column.category}`}</th>
              <td>{show(column.selected, column.kind)}</td>
              <td>{show(column.rest, column.kind)}</td>
              <td title={column.measure}>
                <span class="effect">
                  {formatNumber(column.effect)}
                  <Bar share={Math.abs(column.effect) / largest} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft">Effect: Cohen's d of numbers, difference of shares of classes.</p>
    </>
  );
}

function show(value: number | null, kind: "number" | "category"): string {
  if (value === null) return "–";
  return kind === "category" ? `${(100 * value).toFixed(0)} %` : formatNumber(value);
}
