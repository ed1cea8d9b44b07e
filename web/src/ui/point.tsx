// The chosen point: values, true neighbors and whether each panel keeps them, sliders of features.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { faultOf } from "../data/transport";
import type { Feature, RowValue } from "../data/types";
import { formatNumber } from "../state/format";
import { loadColumn } from "../state/loading";
import { choose } from "../state/selection";
import { useStore } from "./context";
import { Thumbnail } from "./thumbnail";

export function PointTab(): JSX.Element {
  const store = useStore();
  const row = store.chosen.value;
  if (row < 0)
    return (
      <section class="box empty">
        <h2>No point is chosen</h2>
        <p>Click a point, or press Enter in a panel, to see its values and its true neighbors.</p>
      </section>
    );
  return (
    <>
      <section class="box" id="point" aria-live="polite">
        <div class="head">
          <Thumbnail row={row} size={72} />
          <h2>{store.title(row)}</h2>
          <button type="button" class="icon corner" aria-label="forget this point" onClick={() => void choose(store, -1)}>×</button>
        </div>
        <NewCoordinates />
      </section>
      <NeighborList />
      {store.view.value!.can.move && <Sliders row={row} />}
      <section class="box"><h2>Values</h2><Values row={row} /><Coordinates row={row} /></section>
    </>
  );
}

function NewCoordinates(): JSX.Element | null {
  const store = useStore();
  const moved = store.moved.value;
  if (!moved) return null;
  return (
    <ul class="notes">
      {Object.entries(moved.panels).map(([key, placed]) => {
        const confidence = placed.confidence?.[0];
        return (
          <li key={key}>
            {store.panel(key)?.name ?? key}: ({placed.coordinates[0]?.map((value) => formatNumber(value ?? NaN)).join(", ")})
            {confidence != null && `, confidence ${confidence.toFixed(2)}`}
          </li>
        );
      })}
      {moved.failed.map(({ panel, fault }) => <li key={panel} class="bad">{store.panel(panel)?.name ?? panel}: {fault.message}</li>)}
    </ul>
  );
}

function Values({ row }: { row: number }): JSX.Element {
  const store = useStore();
  const view = store.view.value!;
  const [values, setValues] = useState<RowValue[] | null>(null);
  useEffect(() => {
    let current = true;
    const get = view.can.rows ? store.client.getRow(row) : collect();
    get.then((found) => { if (current) setValues(found); }, (error: unknown) => { store.tell(faultOf(error).message, "", true); });
    return () => { current = false; };
  }, [row]);
  async function collect(): Promise<RowValue[]> {
    await Promise.all(view.columns.map((column) => loadColumn(store, column.key)));
    return view.columns.map((column) => ({ column: column.key, name: column.name, value: store.textOf(column, row) }));
  }
  if (!values) return <p class="soft">Loading…</p>;
  return (
    <dl class="values">
      {values.map(({ column, name, value }) => [
        <dt key={column}>{name}</dt>,
        <dd key={`${column}-value`}>{value === null ? "missing" : typeof value === "number" ? formatNumber(value) : value}</dd>,
      ])}
    </dl>
  );
}

/** Coordinates of a row in the panels on show. */
function Coordinates({ row }: { row: number }): JSX.Element {
  const store = useStore();
  void store.pointsVersion.value;
  const keys = [...new Set(store.slots.value.map((slot) => slot.panel))];
  return (
    <dl class="values">
      {keys.flatMap((key) => (store.points.get(key) ?? []).slice(0, store.panel(key)?.dimensions).map((axis, j) => [
        <dt key={`${key}-${j}`}>{store.panel(key)?.axes[j]}</dt>,
        <dd key={`${key}-${j}-value`}>{formatNumber(axis[row]!)}</dd>,
      ]))}
    </dl>
  );
}

function NeighborList(): JSX.Element | null {
  const store = useStore();
  if (store.view.value!.can.neighbors === "none") return null;
  const neighbors = store.neighbors.value;
  if (!neighbors) return <section class="box"><h2>True neighbors</h2><p class="soft">Loading…</p></section>;
  const shown = store.slots.value.filter((slot) => neighbors.panels[slot.panel]);
  const kept = (panel: string): Set<number> => new Set(neighbors.panels[panel]);
  return (
    <section class="box">
      <h2>True neighbors</h2>
      <p class="soft">Nearest rows in the data{neighbors.metric && ` (${neighbors.metric} distance)`}; ✓ where a panel keeps them near.</p>
      <table class="neighbors fixed">
        <thead>
          <tr>
            <th scope="col" class="wide">row</th><th scope="col">distance</th>
            {shown.map((slot) => {
              const here = kept(slot.panel);
              const n = neighbors.rows.filter((row) => here.has(row)).length;
              return <th scope="col" key={slot.id} title={`${store.panel(slot.panel)?.name ?? ""}: ${n} of ${neighbors.rows.length} are neighbors there too`}>{store.panel(slot.panel)?.name} <small>{n}/{neighbors.rows.length}</small></th>;
            })}
          </tr>
        </thead>
        <tbody>
          {neighbors.rows.map((row, i) => (
            <tr key={row} onPointerEnter={() => { store.hovered.value = row; }} onPointerLeave={() => { store.hovered.value = -1; }}>
              <th scope="row">
                <button type="button" class="link" onClick={() => void choose(store, row)}>
                  <Thumbnail row={row} size={20} /> {store.title(row)}
                </button>
              </th>
              <td>{formatNumber(neighbors.distances[i]!)}</td>
              {shown.map((slot) => (
                <td key={slot.id}><Kept is={kept(slot.panel).has(row)} /></td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Kept({ is }: { is: boolean }): JSX.Element {
  const text = is ? "a neighbor in this panel too" : "moved away in this panel";
  return <span class={is ? "good" : "missed"} role="img" aria-label={text} title={text}>{is ? "✓" : "✗"}</span>;
}

const MAX_SLIDERS = 8;
const MOVE_DELAY = 60; // milliseconds between two requests while a slider moves

function Sliders({ row }: { row: number }): JSX.Element | null {
  const store = useStore();
  const [features, setFeatures] = useState<Feature[]>([]);
  const [wanted, setWanted] = useState("");
  const [changes, setChanges] = useState<Record<string, number>>({});
  const pending = useRef<{ timer: ReturnType<typeof setTimeout> | undefined; busy: boolean; next: Record<string, number> | null }>({ timer: undefined, busy: false, next: null });
  useEffect(() => {
    let current = true;
    setChanges({});
    void store.attempt(async () => {
      const found = await store.client.getFeatures(row);
      if (current) setFeatures(found);
    });
    return () => { current = false; };
  }, [row]);
  const send = async (next: Record<string, number>): Promise<void> => {
    const state = pending.current;
    if (state.busy) {
      state.next = next;
      return;
    }
    state.busy = true;
    await store.attempt(async () => {
      const placed = await store.client.move(row, next);
      if (store.chosen.value === row) store.moved.value = placed;
    });
    state.busy = false;
    const waiting = state.next;
    state.next = null;
    if (waiting) await send(waiting);
  };
  const change = (index: number, value: number): void => {
    const next = { ...changes, [String(index)]: value };
    setChanges(next);
    clearTimeout(pending.current.timer);
    pending.current.timer = setTimeout(() => void send(next), MOVE_DELAY);
  };
  if (!features.length) return null;
  const changed = new Set(Object.keys(changes));
  const shown = features
    .filter((feature) => changed.has(String(feature.index)) || feature.name.toLowerCase().includes(wanted.toLowerCase()))
    .slice(0, MAX_SLIDERS + changed.size);
  return (
    <section class="box">
      <h2>What if a feature changed?</h2>
      {features.length > MAX_SLIDERS && (
        <input type="search" placeholder={`Find one of ${features.length} features`} aria-label="find a feature"
          onInput={(event) => { setWanted(event.currentTarget.value); }} />
      )}
      {shown.map((feature) => {
        const value = changes[String(feature.index)] ?? feature.value;
        return (
          <label key={feature.index} class="slider">
            <span>{feature.name}</span><output>{formatNumber(value)}</output>
            <input type="range" min={Math.min(feature.low, feature.value)} max={Math.max(feature.high, feature.value)} step="any" value={value}
              onInput={(event) => { change(feature.index, Number(event.currentTarget.value)); }} />
          </label>
        );
      })}
      {changed.size > 0 && (
        <button type="button" onClick={() => { setChanges({}); store.moved.value = null; }}>Reset</button>
      )}
    </section>
  );
}
