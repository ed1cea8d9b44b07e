// Ranges of number columns with their histograms.
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { NumberColumn } from "../data/types";
import { clearFilters, setRange } from "../state/choices";
import { countBins } from "../state/filters";
import { formatNumber } from "../state/format";
import { loadColumn } from "../state/loading";
import { useStore } from "./context";

const MAX_OPEN_FILTERS = 6; // histograms on show at once: more would not be read

export function FilterBox(): JSX.Element | null {
  const store = useStore();
  const open = useSignal<string[]>([...store.ranges.value.keys()]);
  const columns = store.view.value!.columns.filter((column) => column.kind === "number");
  if (!columns.length) return null;
  const free = columns.filter((column) => !open.value.includes(column.key));
  return (
    <section class="box">
      <h2>Filters</h2>
      {columns.filter((column) => open.value.includes(column.key)).map((column) => (
        <RangeFilter key={column.key} column={column} close={() => {
          open.value = open.value.filter((key) => key !== column.key);
          void setRange(store, column.key, null);
        }} />
      ))}
      {free.length > 0 && open.value.length < MAX_OPEN_FILTERS && (
        <select aria-label="add a filter" value="" onChange={(event) => {
          const key = event.currentTarget.value;
          event.currentTarget.value = "";
          void store.attempt(async () => {
            await loadColumn(store, key);
            open.value = [...open.value, key];
          });
        }}>
          <option value="">+ Filter by a column</option>
          {free.map((column) => <option key={column.key} value={column.key}>{column.name}</option>)}
        </select>
      )}
      {(store.hidden.value.size > 0 || store.ranges.value.size > 0 || store.matches.value) && (
        <button type="button" class="quiet clear" onClick={() => { clearFilters(store); }}>Clear all filters</button>
      )}
    </section>
  );
}

function RangeFilter({ column, close }: { column: NumberColumn; close: () => void }): JSX.Element {
  const store = useStore();
  const [low, high] = store.ranges.value.get(column.key) ?? [column.low, column.high];
  const counts = useComputed(() => {
    void store.columnsVersion.value;
    const values = store.values.get(column.key) as Float32Array | undefined;
    const mask = store.selection.value?.mask ?? null;
    return values && mask ? countBins(column, values, mask) : null;
  }).value;
  useEffect(() => void store.attempt(() => loadColumn(store, column.key)), [column.key]);
  const change = (from: number, to: number): void => {
    const whole = from <= column.low && to >= column.high;
    void setRange(store, column.key, whole ? null : [Math.min(from, to), Math.max(from, to)]);
  };
  const step = column.integer ? 1 : "any";
  return (
    <fieldset class="filter">
      <legend>{column.name}</legend>
      <button type="button" class="icon corner" aria-label={`remove the filter by ${column.name}`} onClick={close}>×</button>
      <Histogram column={column} counts={counts} low={low} high={high} />
      <div class="range">
        <input type="range" min={column.low} max={column.high} step={step} value={low} aria-label={`${column.name} from`}
          onInput={(event) => { change(Number(event.currentTarget.value), high); }} />
        <input type="range" min={column.low} max={column.high} step={step} value={high} aria-label={`${column.name} to`}
          onInput={(event) => { change(low, Number(event.currentTarget.value)); }} />
      </div>
      <div class="ends"><span>{formatNumber(low)}</span><span>{formatNumber(high)}</span></div>
    </fieldset>
  );
}

function Histogram({ column, counts, low, high }: {
  column: NumberColumn; counts: Uint32Array | null; low: number; high: number;
}): JSX.Element {
  const { edges, counts: all } = column.histogram;
  const largest = Math.max(1, ...all);
  const largestChosen = Math.max(1, ...(counts ?? [1]));
  const width = 100 / all.length;
  const inside = (i: number): boolean => (edges[i + 1] ?? high) >= low && (edges[i] ?? low) <= high;
  return (
    <svg class="histogram" viewBox="0 0 100 30" preserveAspectRatio="none" role="img"
      aria-label={`histogram of ${column.name}${counts ? ", the selection in front" : ""}`}>
      {all.map((n, i) => {
        const tall = (28 * n) / largest;
        return <rect key={i} class={inside(i) ? "bar" : "bar out"} x={i * width} y={30 - tall} width={width * 0.92} height={tall} />;
      })}
      {counts && [...counts].map((n, i) => {
        const tall = (28 * n) / largestChosen;
        return <rect key={i} class="bar chosen" x={i * width + width * 0.2} y={30 - tall} width={width * 0.5} height={tall} />;
      })}
    </svg>
  );
}
