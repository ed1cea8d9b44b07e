// New points: a dropped file or pasted rows, their coordinates in every panel with a model.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NewPoints } from "../data/types";
import { DOUBTFUL_CONFIDENCE } from "../render/overlay";
import { addPoints, removeAdded } from "../state/new_points";
import { plural, useStore } from "./context";
import { save } from "./save";

export async function takeFile(store: ReturnType<typeof useStore>, file: File): Promise<void> {
  const limit = store.view.value!.limits.upload_bytes;
  if (file.size > limit) {
    store.tell(`${file.name} is larger than ${Math.floor(limit / 2 ** 20)} MiB.`, "Split it, or map it with `lowd transform`.", true);
    return;
  }
  await addPoints(store, file.name, new Uint8Array(await file.arrayBuffer()));
}

export function AddTab(): JSX.Element {
  const store = useStore();
  const view = store.view.value!;
  const [text, setText] = useState("");
  if (!view.can.new_points)
    return (
      <section class="box empty">
        <h2>New points need a model</h2>
        <p>Coordinates alone cannot place new rows. Open a stored model (<code>lowd view model.lowd --data data.parquet</code>) or run a method here.</p>
      </section>
    );
  const models = view.panels.filter((panel) => panel.has_model).map((panel) => panel.name);
  return (
    <>
      <section class="box screen">
        <h2>Add new points</h2>
        <p>Rows with the same columns as the data get coordinates in: {models.join(", ")}.</p>
        <label class="drop">
          <span>Drop a file anywhere, or choose one</span>
          <small>CSV, TSV, Parquet, Arrow or JSON lines, at most {Math.floor(view.limits.upload_bytes / 2 ** 20)} MiB and {plural(view.limits.new_rows, "row")}</small>
          <input type="file" accept=".csv,.tsv,.txt,.parquet,.arrow,.feather,.jsonl,.ndjson,.json"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file) void takeFile(store, file);
              event.currentTarget.value = "";
            }} />
        </label>
        <label class="paste"><span>or paste rows, with a header line</span>
          <textarea rows={4} value={text} spellcheck={false} onInput={(event) => { setText(event.currentTarget.value); }} />
        </label>
        <button type="button" class="primary" disabled={!text.trim()}
          onClick={() => void addPoints(store, "pasted.csv", text).then(() => { setText(""); })}>Add pasted rows</button>
      </section>
      {store.added.value.map((points) => <Added key={points.key} points={points} />)}
    </>
  );
}

const MAX_LISTED = 50;

function Added({ points }: { points: NewPoints }): JSX.Element {
  const store = useStore();
  const panels = Object.entries(points.panels);
  const doubtful = (row: number): boolean =>
    panels.some(([, placed]) => (placed.confidence?.[row] ?? 1) < DOUBTFUL_CONFIDENCE);
  const rows = Array.from({ length: Math.min(points.n, MAX_LISTED) }, (_, i) => i);
  return (
    <section class="box added">
      <h2>{plural(points.n, "new point")}</h2>
      {points.notes.map((note) => <p key={note} class="soft">{note}</p>)}
      {points.failed.map(({ panel, fault }) => <p key={panel} class="bad">{store.panel(panel)?.name ?? panel}: {fault.message} {fault.remedy}</p>)}
      <div class="actions">
        {["csv", "parquet"].map((format) => (
          <button key={format} type="button" onClick={() => void store.attempt(async () => {
            save(await store.client.getPointsFile(points.key, format), `new_points.${format}`);
          })}>Save as {format === "csv" ? "CSV" : "Parquet"}</button>
        ))}
        <button type="button" onClick={() => void removeAdded(store, points.key)}>Remove</button>
      </div>
      <h3>Confidence in each panel</h3>
      <table class="fixed">
        <thead><tr><th scope="col">point</th>{panels.map(([key]) => <th scope="col" key={key}>{store.panel(key)?.name ?? key}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row} class={doubtful(row) ? "doubtful" : ""}>
              <th scope="row">{points.ids?.[row] ?? `new ${row}`}</th>
              {panels.map(([key, placed]) => {
                const confidence = placed.confidence?.[row];
                return <td key={key}>{confidence == null ? "–" : confidence < DOUBTFUL_CONFIDENCE ? `${confidence.toFixed(2)} (doubtful)` : confidence.toFixed(2)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {points.n > MAX_LISTED && <p class="soft">The first {MAX_LISTED} of {points.n}.</p>}
    </section>
  );
}
