// The line above the panels: what is shown, colors, tools, search, export, theme, help.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { chooseColor, search } from "../state/choices";
import { EVIDENCE_TITLES } from "../state/coloring";
import { addSlot } from "../state/layout";
import { MAX_PANELS, type ThemeChoice } from "../state/store";
import { count, plural, useShared, useStore } from "./context";
import { ExportMenu } from "./export_menu";
import { HelpDialog } from "./help";
import { Icon } from "./icon";

export function Toolbar(): JSX.Element {
  const { store, embedded } = useShared();
  const view = store.view.value!;
  return (
    <header class="toolbar">
      <div class="name">
        {!embedded && <h1>{view.title}</h1>}
        <Counts />
      </div>
      <ColorChoice />
      <div class="group" role="group" aria-label="what dragging does">
        <ToolButton tool="pan" label="Move" />
        <ToolButton tool="lasso" label="Lasso" />
      </div>
      <SearchBox />
      <PanelAdder />
      <span class="spring" />
      <ExportMenu />
      {!embedded && <ThemeButton />}
      <HelpDialog />
    </header>
  );
}

function Counts(): JSX.Element {
  const store = useStore();
  const n = store.view.value!.n;
  const shown = store.visibleCount.value;
  const selected = store.selection.value?.count ?? 0;
  return (
    <p class="soft" role="status" data-selected={selected} data-shown={shown}>
      {shown === n ? plural(n, "row") : `${count(shown)} of ${plural(n, "row")} shown`}
      {selected > 0 && `, ${count(selected)} selected`}
    </p>
  );
}

function ColorChoice(): JSX.Element {
  const store = useStore();
  const view = store.view.value!;
  const columns = view.columns.filter((column) => column.kind !== "text");
  return (
    <label class="field">
      <span>Color</span>
      <select value={store.colorBy.value} onChange={(event) => void chooseColor(store, event.currentTarget.value)}>
        <option value="">one color</option>
        {columns.length > 0 && (
          <optgroup label="Columns">
            {columns.map((column) => <option key={column.key} value={column.key}>{column.name}</option>)}
          </optgroup>
        )}
        {view.can.quality && (
          <optgroup label="Evidence at each point">
            {Object.entries(EVIDENCE_TITLES).map(([name, title]) => <option key={name} value={`evidence:${name}`}>{title}</option>)}
          </optgroup>
        )}
      </select>
    </label>
  );
}

function ToolButton({ tool, label }: { tool: "pan" | "lasso"; label: string }): JSX.Element {
  const store = useStore();
  return (
    <button type="button" aria-pressed={store.tool.value === tool} onClick={() => { store.tool.value = tool; }}>
      <Icon name={tool} /> {label}
    </button>
  );
}

const SEARCH_DELAY = 250; // milliseconds after the last key

function SearchBox(): JSX.Element {
  const store = useStore();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const type = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void search(store, text), text ? SEARCH_DELAY : 0);
  };
  return (
    <label class="search">
      <Icon name="search" />
      <input type="search" placeholder="Search rows" aria-label="search rows" value={store.query.value}
        onInput={(event) => { type(event.currentTarget.value); }} />
    </label>
  );
}

function PanelAdder(): JSX.Element | null {
  const store = useStore();
  const shown = new Set(store.slots.value.map((slot) => slot.panel));
  const others = store.panels.value.filter((panel) => !shown.has(panel.key));
  if (!others.length || store.slots.value.length >= MAX_PANELS) return null;
  return (
    <select class="adder" aria-label="add a panel" value=""
      onChange={(event) => {
        const key = event.currentTarget.value;
        event.currentTarget.value = "";
        void addSlot(store, key);
      }}>
      <option value="">+ Panel</option>
      {others.map((panel) => <option key={panel.key} value={panel.key}>{panel.name}</option>)}
    </select>
  );
}

const NEXT_THEME: Record<ThemeChoice, ThemeChoice> = { auto: "light", light: "dark", dark: "auto" };
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" } as const;

function ThemeButton(): JSX.Element {
  const store = useStore();
  const choice = store.themeChoice.value;
  return (
    <button type="button" class="icon" aria-label={`theme: ${choice}`} title={`Theme: ${choice}`}
      onClick={() => { store.themeChoice.value = NEXT_THEME[choice]; }}>
      <Icon name={THEME_ICONS[choice]} />
    </button>
  );
}
