// Run a method: a form made from its declared parameters, progress, cancel.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Job, Method, Parameter } from "../data/types";
import { cancelJob, startJob } from "../state/jobs";
import { formatDuration } from "../state/format";
import { parseParameter } from "../state/parameters";
import { selectedRows } from "../state/selection";
import { plural, useStore } from "./context";

export function RunTab(): JSX.Element {
  const store = useStore();
  const [methods, setMethods] = useState<Method[]>([]);
  const [name, setName] = useState("");
  useEffect(() => {
    if (store.view.value!.can.run)
      void store.attempt(async () => {
        const found = await store.client.getMethods();
        setMethods(found);
        setName((found.find((method) => method.name === "TSNE") ?? found[0])?.name ?? "");
      });
  }, []);
  if (!store.view.value!.can.run)
    return (
      <section class="box empty">
        <h2>Nothing to run here</h2>
        <p>A method needs the data. Open them with <code>lowd view data.parquet -m pca</code>.</p>
      </section>
    );
  const method = methods.find((other) => other.name === name);
  return (
    <>
      <Jobs />
      <section class="box screen">
        <h2>Run a method</h2>
        <label class="field"><span>Method</span>
          <select value={name} onChange={(event) => { setName(event.currentTarget.value); }}>
            {methods.map((other) => <option key={other.name} value={other.name}>{other.title}</option>)}
          </select>
        </label>
        {method && <p class="soft">{method.summary}{method.live && " Its embedding can be watched while it iterates."}</p>}
        {method && <MethodForm key={method.name} method={method} />}
      </section>
    </>
  );
}

function MethodForm({ method }: { method: Method }): JSX.Element {
  const store = useStore();
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [only, setOnly] = useState(true);
  const selected = store.selection.value?.count ?? 0;
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    const parameters: Record<string, unknown> = {};
    const problems: Record<string, string> = {};
    for (const parameter of method.parameters) {
      const text = texts[parameter.name];
      if (text === undefined) continue;
      const parsed = parseParameter(parameter, text);
      if ("error" in parsed) problems[parameter.name] = parsed.error;
      else parameters[parameter.name] = parsed.value;
    }
    setErrors(problems);
    const wrong = Object.keys(problems)[0];
    if (wrong !== undefined) {
      form.current?.querySelector<HTMLElement>(`#parameter-${wrong}`)?.focus();
      return;
    }
    void startJob(store, { method: method.name, parameters, ...(selected && only ? { rows: selectedRows(store) } : {}) });
    // The list of jobs is above the form.
    form.current?.closest(".tab-body")?.scrollTo({ top: 0 });
  };
  const field = (parameter: Parameter): JSX.Element => (
    <ParameterField key={parameter.name} parameter={parameter} text={texts[parameter.name]} error={errors[parameter.name]}
      change={(text) => { setTexts({ ...texts, [parameter.name]: text }); }} />
  );
  const advanced = method.parameters.filter((parameter) => parameter.advanced);
  return (
    <form class="method" ref={form} onSubmit={submit} noValidate>
      {method.parameters.filter((parameter) => !parameter.advanced).map(field)}
      {advanced.length > 0 && <details><summary>More parameters</summary>{advanced.map(field)}</details>}
      {selected > 0 && (
        <label class="check"><input type="checkbox" checked={only} onChange={(event) => { setOnly(event.currentTarget.checked); }} />
          only the {plural(selected, "selected row")}</label>
      )}
      <button type="submit" class="primary">Run {method.title}</button>
    </form>
  );
}

function ParameterField({ parameter, text, error, change }: {
  parameter: Parameter; text: string | undefined; error: string | undefined; change: (text: string) => void;
}): JSX.Element {
  const initial = parameter.default === null || parameter.default === undefined ? "" : textOf(parameter.default);
  const value = text ?? initial;
  const id = `parameter-${parameter.name}`;
  const described = { "aria-describedby": `${id}-help`, "aria-invalid": error !== undefined };
  const listed = parameter.kind === "choice" && parameter.choices;
  return (
    <div class="parameter">
      <label for={id}>{parameter.name}</label>
      {parameter.kind === "boolean" ? (
        <select id={id} value={value} {...described} onChange={(event) => { change(event.currentTarget.value); }}>
          {parameter.optional && <option value="">not set</option>}
          <option value="true">yes</option><option value="false">no</option>
        </select>
      ) : listed ? (
        <select id={id} value={value} {...described} onChange={(event) => { change(event.currentTarget.value); }}>
          {parameter.optional && <option value="">not set</option>}
          {listed.map((choice) => <option key={choice} value={choice}>{choice}</option>)}
        </select>
      ) : (
        <input id={id} value={value} {...described} inputMode={parameter.kind === "text" ? "text" : "decimal"}
          placeholder={parameter.optional ? "not set" : ""} list={parameter.choices ? `${id}-words` : undefined}
          onInput={(event) => { change(event.currentTarget.value); }} />
      )}
      {parameter.choices && !listed && (
        <datalist id={`${id}-words`}>{parameter.choices.map((word) => <option key={word} value={word} />)}</datalist>
      )}
      <small id={`${id}-help`}>{error !== undefined ? <span class="bad">{error}</span> : <Prose text={parameter.help} />}</small>
    </div>
  );
}

/** Text with names of code between backticks. */
function Prose({ text }: { text: string }): JSX.Element {
  return <>{text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const MAX_ENDED = 3; // jobs that are still listed: the form is below them
const isBusy = (job: Job): boolean => job.state === "queued" || job.state === "running";

function Jobs(): JSX.Element | null {
  const store = useStore();
  const jobs = [...store.jobs.value].reverse();
  const ended = jobs.filter((job) => !isBusy(job)).slice(0, MAX_ENDED);
  if (!jobs.length) return null;
  return (
    <section class="box" aria-label="jobs">
      <h2>Jobs</h2>
      <ul class="jobs">{jobs.filter((job) => isBusy(job) || ended.includes(job)).map((job) => <JobItem key={job.id} job={job} />)}</ul>
    </section>
  );
}

function JobItem({ job }: { job: Job }): JSX.Element {
  const store = useStore();
  return (
    <li class={job.state}>
      <b>{job.name}</b> <span class="soft">{describe(job)}</span>
      {isBusy(job) && (
        <div class="progress">
          <progress value={job.total > 0 ? job.done / job.total : undefined} aria-label={`progress of ${job.name}`} />
          <button type="button" onClick={() => void cancelJob(store, job.id)}>Cancel</button>
        </div>
      )}
      {job.fault && job.state === "failed" && <p class="bad">{job.fault.message} {job.fault.remedy}</p>}
    </li>
  );
}

function describe(job: Job): string {
  const seconds = formatDuration(job.seconds);
  if (job.state === "running")
    return `${job.stage}, ${seconds}${job.seconds_left === null ? "" : `, about ${formatDuration(Math.ceil(job.seconds_left))} left`}`;
  return job.state === "queued" ? "waiting" : `${job.state}, ${seconds}`;
}
