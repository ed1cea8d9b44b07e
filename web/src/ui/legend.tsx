import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import type { CategoryColumn } from "../data/types";
import { classColor, classShape, css, MISSING, shade, type ScaleName, type Theme } from "../render/colors";
import { toggleClass } from "../state/choices";
import { type Legend, MAX_CLASS_COLORS } from "../state/coloring";
import { countClasses } from "../state/filters";
import { formatNumber } from "../state/format";
import { Bar } from "./bar";
import { count, useStore } from "./context";
import { Swatch } from "./swatch";

const MAX_LEGEND_CLASSES = 200; // more are searched for, not clicked

export function LegendBox(): JSX.Element | null {
  const store = useStore();
  const slot = store.slots.value[store.focus.value] ?? store.slots.value[0];
  if (!slot) return null;
  const { legend } = store.coloringOf(slot.panel);
  const theme = store.theme.value;
  if (store.evidenceName() && legend.kind === "none") return <Computing panel={slot.panel} />;
  if (legend.kind === "scale") return <ScaleLegend legend={legend} theme={theme} />;
  const column = store.column(store.colorBy.value);
  if (legend.kind !== "classes" || column?.kind !== "category") return null;
  return <ClassLegend column={column} theme={theme} />;
}

function Computing({ panel }: { panel: string }): JSX.Element {
  const store = useStore();
  const quality = store.quality.value[panel];
  if (quality?.state === "failed") return <p class="bad">{quality.fault.message} {quality.fault.remedy}</p>;
  const share = quality?.state === "computing" && quality.total > 0 ? quality.done / quality.total : undefined;
  return (
    <div role="status">
      <p>Comparing the embedding with the data{quality?.state === "computing" && quality.stage ? `: ${quality.stage}` : ""}…</p>
      <progress value={share} aria-label="progress of the evaluation" />
    </div>
  );
}

function ScaleLegend({ legend, theme }: { legend: Legend & { kind: "scale" }; theme: Theme }): JSX.Element {
  return (
    <div class="legend">
      <h2>{legend.title}</h2>
      <Ramp scale={legend.scale} theme={theme} />
      <div class="ends"><span>{formatNumber(legend.low)}</span><span>{formatNumber(legend.high)}</span></div>
      {legend.missing > 0 && <p class="soft"><Swatch color={MISSING[theme]} shape={0} /> missing: {count(legend.missing)}</p>}
      {legend.note && <p class="soft">{legend.note}</p>}
    </div>
  );
}

const RAMP_STEPS = 24;

export function Ramp({ scale, theme }: { scale: ScaleName; theme: Theme }): JSX.Element {
  return (
    <svg class="ramp" viewBox={`0 0 ${RAMP_STEPS} 1`} preserveAspectRatio="none" aria-hidden="true">
      {Array.from({ length: RAMP_STEPS }, (_, i) => (
        <rect key={i} x={i} y="0" width="1.05" height="1" fill={css(shade(scale, theme, i / (RAMP_STEPS - 1)))} />
      ))}
    </svg>
  );
}

function ClassLegend({ column, theme }: { column: CategoryColumn; theme: Theme }): JSX.Element {
  const store = useStore();
  const hidden = store.hidden.value.get(column.key);
  const selectedCounts = useComputed(() => {
    void store.columnsVersion.value;
    const current = store.column(store.colorBy.value);
    const values = current?.kind === "category" ? store.values.get(current.key) : undefined;
    const selection = store.selection.value;
    return values && selection && current?.kind === "category"
      ? countClasses(values as Int16Array, current.categories.length, selection.mask)
      : null;
  }).value;
  const entries = column.categories.slice(0, MAX_LEGEND_CLASSES).map((name, code) => ({ name, code, n: column.counts[code] ?? 0 }));
  if (column.missing > 0) entries.push({ name: "missing", code: -1, n: column.missing });
  const largest = Math.max(1, ...entries.map((entry) => entry.n));
  return (
    <div class="legend">
      <h2>{column.name}</h2>
      <ul>
        {entries.map(({ name, code, n }) => {
          const plain = code < 0 || code >= MAX_CLASS_COLORS || (column.rest === true && code === column.categories.length - 1);
          const chosen = selectedCounts?.[code < 0 ? column.categories.length : code];
          return (
            <li key={code}>
              <button type="button" aria-pressed={!hidden?.has(code)}
                title="Click: hide or show. Alt + click: only this."
                onClick={(event) => { toggleClass(store, column, code, event.altKey); }}>
                <Swatch color={plain ? MISSING[theme] : classColor(theme, code)} shape={plain ? 0 : classShape(code)} />
                <span class="label">{name}</span>
                <Bar share={(chosen ?? n) / (chosen === undefined ? largest : Math.max(1, n))} />
                <small>{chosen === undefined ? count(n) : `${count(chosen)} / ${count(n)}`}</small>
              </button>
            </li>
          );
        })}
      </ul>
      {column.categories.length > MAX_LEGEND_CLASSES && (
        <p class="soft">The {MAX_LEGEND_CLASSES} first of {count(column.categories.length)} classes; find others by search.</p>
      )}
      {hidden && hidden.size > 0 && (
        <button type="button" class="quiet" onClick={() => { store.hidden.value = new Map([...store.hidden.value].filter(([key]) => key !== column.key)); }}>Show all classes</button>
      )}
    </div>
  );
}
