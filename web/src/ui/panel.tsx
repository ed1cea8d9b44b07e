// One embedding: its name and tools, the canvas, and the tip of the point under the pointer.
import type { JSX, TargetedEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { PanelView } from "../render/panel_view";
import { changeSlot, removeSlot } from "../state/layout";
import { loadPoints } from "../state/loading";
import { selectRows } from "../state/selection";
import type { Slot } from "../state/store";
import { plural, useShared, useStore } from "./context";
import { Icon } from "./icon";
import { Thumbnail } from "./thumbnail";

export function Panel({ slot, index }: { slot: Slot; index: number }): JSX.Element {
  const { store, views } = useShared();
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const [view, setView] = useState<PanelView | null>(null);
  useEffect(() => {
    const find = (): Slot | undefined => store.slots.value.find((other) => other.id === slot.id);
    const made = new PanelView(store, find, base.current!, overlay.current!);
    views.set(slot.id, made);
    setView(made);
    return () => {
      views.delete(slot.id);
      made.close();
    };
  }, [slot.id]);
  const info = store.panel(slot.panel);
  const name = info?.name ?? "embedding";
  const quality = store.quality.value[slot.panel];
  return (
    <section class={`panel ${store.focus.value === index ? "focused" : ""}`} aria-label={`Panel ${index + 1}: ${name}`}
      onFocusCapture={() => { store.focus.value = index; }} onPointerDownCapture={() => { store.focus.value = index; }}>
      <header class="panel-head">
        <PanelChoice slot={slot} view={view} />
        {info?.rows != null && <span class="chip">{plural(info.rows, "row")}</span>}
        {quality?.state === "ready" && (
          <button type="button" class="chip verdict" title={quality.verdict}
            onClick={() => { store.focus.value = index; store.tab.value = "evidence"; }}>
            {shortQuality(quality.measures)}
          </button>
        )}
        <span class="spring" />
        {info && info.dimensions > 2 && (
          <>
            {!slot.spatial && <AxisChoice slot={slot} names={info.axes} />}
            <button type="button" class="icon" aria-pressed={slot.spatial}
              title="three dimensions" onClick={() => void changeSlot(store, slot.id, { spatial: !slot.spatial })}>3-D</button>
          </>
        )}
        {store.slots.value.length > 1 && (
          <button type="button" class="icon" aria-label={`close panel ${name}`} title="Close this panel"
            onClick={() => { removeSlot(store, slot.id); }}><Icon name="close" /></button>
        )}
      </header>
      <div class="stage">
        <canvas ref={base} class="points" aria-hidden="true" data-panel={slot.panel} />
        <canvas ref={overlay} class={`overlay ${store.tool.value}`} tabIndex={0} role="application"
          aria-label={`${name}: scatter plot of ${plural(info?.rows ?? store.view.value?.n ?? 0, "point")}. Arrow keys move, plus and minus zoom, 0 shows all, Enter chooses the point in the middle, N its nearest neighbor, Escape clears.`} />
        <div class="zooms">
          <button type="button" class="icon" aria-label="zoom in" title="Zoom in (+)" onClick={() => view?.zoom(1.5)}><Icon name="plus" /></button>
          <button type="button" class="icon" aria-label="zoom out" title="Zoom out (−)" onClick={() => view?.zoom(1 / 1.5)}><Icon name="minus" /></button>
          <button type="button" class="icon" aria-label="show all points" title="Show all points (0)" onClick={() => view?.showAll()}><Icon name="fit" /></button>
        </div>
        {view && <Tip view={view} />}
        <Waiting panel={slot.panel} />
        {view && <Moves view={view} />}
      </div>
    </section>
  );
}

/** What stands in the place of points that are not there. */
function Waiting({ panel }: { panel: string }): JSX.Element | null {
  const store = useStore();
  const fault = store.pointFaults.value.get(panel);
  if (fault)
    return (
      <div class="waiting" role="alert">
        <p>The coordinates could not be loaded. {fault.message}</p>
        {fault.remedy && <p class="soft">{fault.remedy}</p>}
        <button type="button" onClick={() => void loadPoints(store, panel)}>Try again</button>
      </div>
    );
  return store.points.has(panel) ? null : <p class="waiting">Loading coordinates…</p>;
}

function shortQuality(measures: { name: string; title: string; value: number }[]): string {
  const wanted = measures.find((measure) => measure.name === "trustworthiness") ?? measures[0];
  return wanted ? `${wanted.title} ${wanted.value.toFixed(2)}` : "quality";
}

function PanelChoice({ slot, view }: { slot: Slot; view: PanelView | null }): JSX.Element {
  const store = useStore();
  const change = (key: string): void => {
    const from = view?.axes.map((axis) => axis) ?? [];
    void changeSlot(store, slot.id, { panel: key }).then(() => view?.animateFrom(from));
  };
  return (
    <select class="title" aria-label="embedding of this panel" value={slot.panel}
      onChange={(event) => { change(event.currentTarget.value); }}>
      {store.panels.value.map((panel) => <option key={panel.key} value={panel.key}>{panel.name}</option>)}
    </select>
  );
}

function AxisChoice({ slot, names }: { slot: Slot; names: string[] }): JSX.Element {
  const store = useStore();
  const pick = (which: 0 | 1) => (event: TargetedEvent<HTMLSelectElement>): void => {
    const axes: [number, number] = [...slot.axes];
    axes[which] = Number(event.currentTarget.value);
    void changeSlot(store, slot.id, { axes });
  };
  return (
    <span class="axes">
      {([0, 1] as const).map((which) => (
        <select key={which} aria-label={which ? "y axis" : "x axis"} value={slot.axes[which]} onChange={pick(which)}>
          {names.map((name, j) => <option key={j} value={j}>{name.replace(/ \(.*\)$/, "")}</option>)}
        </select>
      ))}
    </span>
  );
}

const TIP_GAP = 14; // pixels from the point
const MAX_TIP_CHARACTERS = 160;

function Tip({ view }: { view: PanelView }): JSX.Element | null {
  const store = useStore();
  const at = view.tip.value;
  // What is known of the chosen point is in its tab; here it would cover the lines to its neighbors.
  if (!at || at.row === store.chosen.value) return null;
  void store.columnsVersion.value;
  const lines = store.view.value!.columns
    .filter((column) => store.values.has(column.key) && column.role !== "id" && (column.role === "label" || column.key === store.colorBy.value || column.kind === "text"))
    .slice(0, 4);
  const stage = view.canvasSize();
  // Toward the middle, where there is room whatever the tip says.
  const style = {
    ...(at.x < stage.width / 2 ? { left: `${at.x + TIP_GAP}px` } : { right: `${stage.width - at.x + TIP_GAP}px` }),
    ...(at.y < stage.height / 2 ? { top: `${at.y + TIP_GAP}px` } : { bottom: `${stage.height - at.y + TIP_GAP}px` }),
  };
  return (
    <div class="tip" role="status" style={style}>
      <Thumbnail row={at.row} size={56} />
      <b>{store.title(at.row)}</b>
      {lines.map((column) => (
        <div key={column.key}>{column.name}: {store.textOf(column, at.row).slice(0, MAX_TIP_CHARACTERS)}</div>
      ))}
    </div>
  );
}

/** After a change of embedding: which points moved most. */
function Moves({ view }: { view: PanelView }): JSX.Element | null {
  const store = useStore();
  const moves = view.moves.value;
  if (!moves) return null;
  return (
    <div class="moves" role="status">
      <span>Lines: the {moves.length} points that moved most.</span>
      <button type="button" onClick={() => { selectRows(store, moves.map((move) => move.row)); }}>Select them</button>
      <button type="button" class="icon" aria-label="hide the lines" onClick={() => { view.moves.value = null; }}><Icon name="close" /></button>
    </div>
  );
}
