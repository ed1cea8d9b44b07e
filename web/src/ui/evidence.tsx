// What to believe of an embedding: verdict, measures, curves.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Measure, ReadyQuality } from "../data/types";
import { classColor, css } from "../render/colors";
import { chooseColor } from "../state/choices";
import { EVIDENCE_TITLES } from "../state/coloring";
import { loadQuality } from "../state/loading";
import { Bar } from "./bar";
import { RnxChart, ScreeChart, ShepardChart } from "./charts";
import { count, useStore } from "./context";

export function EvidenceTab(): JSX.Element {
  const store = useStore();
  const view = store.view.value!;
  const slot = store.slots.value[store.focus.value] ?? store.slots.value[0];
  const keys = store.slots.value.map((other) => other.panel).filter((key) => !key.startsWith("live:"));
  useEffect(() => {
    // One after another: each takes all cores.
    void (async () => {
      for (const key of keys) await loadQuality(store, key);
    })();
  }, [keys.join()]);
  if (!view.can.quality)
    return (
      <section class="box empty">
        <h2>No evidence without the data</h2>
        <p>Only coordinates are known. Open them together with the data they were computed from
          (<code>lowd view data.parquet -m pca,tsne</code> or <code>lowd view model.lowd --data data.parquet</code>) to see which parts to believe.</p>
      </section>
    );
  if (!slot) return <section class="box empty"><p>Add a panel to see its quality.</p></section>;
  const quality = store.quality.value[slot.panel];
  return (
    <>
      <section class="box">
        <label class="field"><span>Panel</span>
          <select value={store.focus.value} onChange={(event) => { store.focus.value = Number(event.currentTarget.value); }}>
            {store.slots.value.map((other, i) => <option key={other.id} value={i}>{store.panel(other.panel)?.name}</option>)}
          </select>
        </label>
        <PanelNotes panel={slot.panel} />
        {(!quality || quality.state === "computing") && (
          <div role="status">
            <p>Comparing the embedding with the data{quality?.stage ? `: ${quality.stage}` : ""}…</p>
            <progress value={quality && quality.total > 0 ? quality.done / quality.total : undefined} aria-label="progress of the evaluation" />
          </div>
        )}
        {quality?.state === "failed" && <p class="bad">{quality.fault.message} {quality.fault.remedy}</p>}
        {quality?.state === "ready" && <Verdict quality={quality} />}
      </section>
      {quality?.state === "ready" && (
        <>
          <section class="box screen"><h2>Show errors at each point</h2><Overlays /></section>
          <section class="box"><h2>Measures</h2><Measures quality={quality} /></section>
          <section class="box charts"><Charts panel={slot.panel} quality={quality} /></section>
        </>
      )}
    </>
  );
}

function PanelNotes({ panel }: { panel: string }): JSX.Element | null {
  const notes = useStore().panel(panel)?.notes ?? [];
  return notes.length ? <ul class="notes warning">{notes.map((note) => <li key={note}>{note}</li>)}</ul> : null;
}

function Verdict({ quality }: { quality: ReadyQuality }): JSX.Element {
  return (
    <>
      <p class="verdict-text">{quality.verdict}</p>
      <p class="soft">
        {quality.exact ? "Over all rows." : `Over ${count(quality.evaluated)} random rows, with 95 % confidence intervals.`}{" "}
        Neighborhoods are the {quality.n_neighbors} nearest rows.
      </p>
      {quality.notes.map((note) => <p key={note} class="soft">{note}</p>)}
    </>
  );
}

function Overlays(): JSX.Element {
  const store = useStore();
  return (
    <div class="actions">
      {Object.entries(EVIDENCE_TITLES).map(([name, title]) => {
        const choice = `evidence:${name}`;
        const on = store.colorBy.value === choice;
        const back = store.view.value!.columns.find((column) => column.role === "label")?.key ?? "";
        return <button key={name} type="button" aria-pressed={on} onClick={() => void chooseColor(store, on ? back : choice)}>{title}</button>;
      })}
    </div>
  );
}

const DIRECTIONS: Record<string, string> = { higher: "higher is better", lower: "lower is better" };

function Measures({ quality }: { quality: ReadyQuality }): JSX.Element {
  return (
    <table class="quality">
      <thead><tr><th scope="col">measure</th><th scope="col">value</th></tr></thead>
      <tbody>
        {quality.measures.map((measure) => <MeasureRow key={measure.name} measure={measure} />)}
      </tbody>
    </table>
  );
}

function MeasureRow({ measure }: { measure: Measure }): JSX.Element {
  const { value, interval, better, question } = measure;
  return (
    <tr>
      <th scope="row">
        {measure.title}
        <small>{question.charAt(0).toUpperCase() + question.slice(1)} {DIRECTIONS[better] ?? better}</small>
      </th>
      <td>
        <b>{value.toFixed(3)}</b>
        {interval?.[0] != null && interval[1] !== null && <small>{interval[0].toFixed(3)} to {interval[1].toFixed(3)}</small>}
        {/* A bar only where more is better and 1 is the most: others would mislead. */}
        {better === "higher" && value >= 0 && value <= 1 && <Bar share={value} />}
      </td>
    </tr>
  );
}

function Charts({ panel, quality }: { panel: string; quality: ReadyQuality }): JSX.Element {
  const store = useStore();
  const theme = store.theme.value;
  const curves = store.slots.value.flatMap((slot, i) => {
    const found = store.quality.value[slot.panel];
    if (found?.state !== "ready" || !found.rnx) return [];
    return [{ name: store.panel(slot.panel)?.name ?? "", color: css(classColor(theme, [0, 2, 3, 5][i] ?? 0)), strong: slot.panel === panel, ...found.rnx }];
  });
  return (
    <>
      {quality.rnx && <RnxChart curves={curves} />}
      {quality.rnx && curves.length > 1 && (
        <ul class="key">{curves.map((curve) => (
          <li key={curve.name}><svg class="swatch" viewBox="0 0 16 16" aria-hidden="true"><rect y="6" width="16" height="4" fill={curve.color} /></svg> {curve.name}</li>
        ))}</ul>
      )}
      {quality.shepard && <ShepardChart {...quality.shepard} />}
      {quality.scree && <ScreeChart {...quality.scree} />}
    </>
  );
}
