import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Fault } from "../data/types";
import type { Tab } from "../state/store";
import { AddTab, takeFile } from "./add";
import { type Shared, SharedContext, useShared, useStore } from "./context";
import { EvidenceTab } from "./evidence";
import { ExploreTab } from "./explore";
import { LegendBox } from "./legend";
import { Panel } from "./panel";
import { PointTab } from "./point";
import { RunTab } from "./run";
import { Toolbar } from "./toolbar";

export function App({ shared }: { shared: Shared }): JSX.Element {
  const { store } = shared;
  const fault = store.fault.value;
  return (
    <SharedContext.Provider value={shared}>
      <div class="lowd" data-theme={store.theme.value} data-panels={store.slots.value.length}>
        {fault ? <Failure fault={fault} /> : store.view.value ? <Explorer /> : <Loading />}
      </div>
    </SharedContext.Provider>
  );
}

function Loading(): JSX.Element {
  const what = useStore().loading.value;
  return <main class="message"><h1>{document.title}</h1><div class="spinner" aria-hidden="true" /><p role="status">Loading {what}…</p></main>;
}

function Failure({ fault }: { fault: Fault }): JSX.Element {
  const expired = fault.code === "unauthorized";
  return (
    <main class="message">
      <h1>{expired ? "This link has expired" : "The view cannot be shown"}</h1>
      <p role="alert">{expired ? "Take the link that the terminal shows." : fault.message}</p>
      {!expired && fault.remedy && <p class="soft">{fault.remedy}</p>}
      <button type="button" onClick={() => { location.reload(); }}>Try again</button>
    </main>
  );
}

function Explorer(): JSX.Element {
  const store = useStore();
  const [over, setOver] = useState(false);
  const drops = store.view.value!.can.new_points;
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (!file || !drops) return;
    store.tab.value = "add";
    void takeFile(store, file);
  };
  return (
    <div class={`explorer ${over && drops ? "over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }}
      onDragLeave={(event) => { if (event.target === event.currentTarget) setOver(false); }} onDrop={drop}>
      <Toolbar />
      <main class="panels" aria-label="embeddings">
        {store.slots.value.map((slot, i) => <Panel key={slot.id} slot={slot} index={i} />)}
        {!store.slots.value.length && <Empty />}
      </main>
      <Sidebar />
      <ToastBox />
      {store.loading.value && <p class="loading" role="status">Loading {store.loading.value}…</p>}
    </div>
  );
}

function Empty(): JSX.Element {
  const store = useStore();
  return (
    <section class="box empty">
      <h2>No embedding yet</h2>
      <p>{store.view.value!.can.run ? "Choose a method and run it: its embedding appears here." : "Add a panel to see an embedding."}</p>
      {store.view.value!.can.run && <button type="button" class="primary" onClick={() => { store.tab.value = "run"; }}>Run a method</button>}
    </section>
  );
}

const TABS: { name: Tab; title: string; body: () => JSX.Element }[] = [
  { name: "explore", title: "Explore", body: ExploreTab },
  { name: "point", title: "Point", body: PointTab },
  { name: "evidence", title: "Evidence", body: EvidenceTab },
  { name: "add", title: "New points", body: AddTab },
  { name: "run", title: "Run", body: RunTab },
];

function Sidebar(): JSX.Element {
  const { store, embedded } = useShared();
  const { can } = store.view.value!;
  const list = useRef<HTMLDivElement>(null);
  const tabs = TABS.filter(({ name }) => (name !== "add" || can.new_points || can.run) && (name !== "run" || can.run) && (name !== "evidence" || !embedded));
  const current = tabs.find(({ name }) => name === store.tab.value) ?? tabs[0]!;
  const turn = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    const next = tabs[(tabs.indexOf(current) + by + tabs.length) % tabs.length]!;
    store.tab.value = next.name;
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.name}"]`)?.focus();
  };
  const Body = current.body;
  return (
    <aside class="side" aria-label="details">
      <div class="tabs" role="tablist" aria-label="details" ref={list} onKeyDown={turn}>
        {tabs.map(({ name, title }) => (
          <button key={name} type="button" role="tab" id={`tab-${name}`} data-tab={name} aria-selected={name === current.name}
            aria-controls="tab-body" tabIndex={name === current.name ? 0 : -1} onClick={() => { store.tab.value = name; }}>{title}</button>
        ))}
      </div>
      <div class="tab-body" role="tabpanel" id="tab-body" aria-labelledby={`tab-${current.name}`} tabIndex={0}><Body /></div>
      {current.name !== "explore" && <section class="box paper"><LegendBox /></section>}
    </aside>
  );
}

const TOAST_MILLISECONDS = 6000;

function ToastBox(): JSX.Element {
  const store = useStore();
  const toast = store.toast.value;
  useEffect(() => {
    if (!toast || toast.bad) return;
    const timer = setTimeout(() => { store.toast.value = null; }, TOAST_MILLISECONDS);
    return () => { clearTimeout(timer); };
  }, [toast]);
  return (
    <div class="toasts" role={toast?.bad ? "alert" : "status"}>
      {toast && (
        <div class={`toast ${toast.bad ? "bad" : ""}`}>
          <p><b>{toast.text}</b> {toast.remedy}</p>
          <button type="button" class="icon" aria-label="close the message" onClick={() => { store.toast.value = null; }}>×</button>
        </div>
      )}
    </div>
  );
}
