// All state of the page as signals, and what follows from them. Components and panels read it; the
// actions that change it are functions of the other modules in this folder.
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Client, Values } from "../data/client";
import { faultOf } from "../data/transport";
import type {
  Column, Comparison, Evidence, EvidenceName, Fault, Job, Neighbors, NewPoints,
  PanelInfo, Placement, Quality, View,
} from "../data/types";
import type { Camera } from "../render/camera";
import type { Theme } from "../render/colors";
import { applyMasks, colorByColumn, colorByEvidence, type Coloring, colorPlain } from "./coloring";
import { applyFilters } from "./filters";
import { formatNumber } from "./format";

export const MAX_PANELS = 4;

/** A place on the screen that shows one embedding. */
export interface Slot {
  id: number;
  panel: string;
  /** Axes of the embedding on x and y (and depth). */
  axes: [number, number];
  spatial: boolean;
}

export interface Selection {
  mask: Uint8Array;
  count: number;
}

export interface Toast {
  text: string;
  remedy: string;
  bad: boolean;
}

export type ThemeChoice = "auto" | Theme;
export type Tool = "pan" | "lasso";
export type Tab = "explore" | "point" | "evidence" | "add" | "run";

export class Store {
  readonly view = signal<View | null>(null);
  readonly fault = signal<Fault | null>(null);
  readonly toast = signal<Toast | null>(null);
  readonly loading = signal("the view");

  readonly slots = signal<Slot[]>([]);
  readonly cameras = new Map<number, Camera>();
  /** Coordinates on their way; a panel without such a request has all its points, or none. */
  readonly pointRequests = new Map<string, Promise<void>>();
  /** Why the points of a panel did not come. */
  readonly pointFaults = signal<ReadonlyMap<string, Fault>>(new Map());
  /** Bumped when coordinates of any panel arrive. */
  readonly pointsVersion = signal(0);
  readonly points = new Map<string, Float32Array[]>();
  readonly columnsVersion = signal(0);
  readonly values = new Map<string, Values>();
  readonly evidenceVersion = signal(0);
  readonly evidence = new Map<string, Evidence>();
  readonly quality = signal<Record<string, Quality>>({});

  readonly colorBy = signal("");
  readonly sizeBy = signal("");
  readonly labelBy = signal("");
  readonly hidden = signal<ReadonlyMap<string, ReadonlySet<number>>>(new Map());
  readonly ranges = signal<ReadonlyMap<string, readonly [number, number]>>(new Map());
  readonly query = signal("");
  readonly matches = signal<Uint8Array | null>(null);
  readonly selection = signal<Selection | null>(null);
  readonly hovered = signal(-1);
  readonly chosen = signal(-1);
  readonly neighbors = signal<Neighbors | null>(null);
  readonly comparison = signal<Comparison | null>(null);

  readonly added = signal<NewPoints[]>([]);
  readonly moved = signal<Placement | null>(null);
  readonly jobs = signal<Job[]>([]);
  readonly livePanels = signal<PanelInfo[]>([]);

  readonly tool = signal<Tool>("pan");
  readonly tab = signal<Tab>("explore");
  readonly focus = signal(0); // index of the slot the evidence tab describes
  readonly themeChoice = signal<ThemeChoice>("auto");
  readonly systemDark = signal(false);
  /** Paper is light. */
  readonly printing = signal(false);
  readonly theme: ReadonlySignal<Theme> = computed(() => {
    if (this.printing.value) return "light";
    return this.themeChoice.value === "auto" ? (this.systemDark.value ? "dark" : "light") : this.themeChoice.value;
  });

  /** Order in which points are drawn. */
  order: Uint32Array = new Uint32Array(0);
  nextSlot = 1;
  /** Jobs are followed by one loop at a time. */
  polling = false;
  /** Columns on their way, and those that have come. */
  readonly columnRequests = new Map<string, Promise<void>>();

  readonly panels = computed<PanelInfo[]>(() => [
    ...(this.view.value?.panels ?? []),
    ...this.livePanels.value,
  ]);
  readonly visible = computed<Uint8Array | null>(() => {
    void this.columnsVersion.value;
    const filters = { hidden: this.hidden.value, ranges: this.ranges.value, matches: this.matches.value };
    return this.view.value ? applyFilters(this.view.value.n, filters, this.values) : null;
  });
  readonly visibleCount = computed(() => {
    const mask = this.visible.value;
    if (mask === null) return this.view.value?.n ?? 0;
    let count = 0;
    for (const value of mask) count += value;
    return count;
  });
  /** Colors by a column; by evidence each panel has its own. */
  private readonly shared = computed<Coloring>(() => {
    void this.columnsVersion.value;
    const column = this.column(this.colorBy.value);
    const values = column && this.values.get(column.key);
    return column && values ? colorByColumn(column, values) : colorPlain(this.view.value?.n ?? 0);
  });
  private readonly sharedMasked = computed<Uint8Array>(() =>
    applyMasks(this.shared.value.codes, this.visible.value, this.selection.value?.mask ?? null),
  );
  /** Factors of the radius, by the column chosen for size. */
  readonly sizes = computed<Float32Array | null>(() => {
    void this.columnsVersion.value;
    const column = this.column(this.sizeBy.value);
    const values = column && (this.values.get(column.key) as Float32Array | undefined);
    if (column?.kind !== "number" || !values) return null;
    const span = column.high - column.low || 1;
    return values.map((value) => (Number.isNaN(value) ? 0.1 : 0.1 + (0.9 * (value - column.low)) / span));
  });

  constructor(readonly client: Client) {}

  column(key: string): Column | undefined {
    return this.view.value?.columns.find((column) => column.key === key);
  }

  panel(key: string): PanelInfo | undefined {
    return this.panels.value.find((panel) => panel.key === key);
  }

  evidenceName(): EvidenceName | null {
    const choice = this.colorBy.value;
    return choice.startsWith("evidence:") ? (choice.slice(9) as EvidenceName) : null;
  }

  /** Codes and legend of a panel, with filters and selection applied. */
  coloringOf(panel: string): Coloring {
    const name = this.evidenceName();
    if (name === null) return { codes: this.sharedMasked.value, legend: this.shared.value.legend };
    void this.evidenceVersion.value;
    const found = this.evidence.get(panel);
    const base = found ? colorByEvidence(name, found[name]) : colorPlain(this.view.value?.n ?? 0);
    const codes = applyMasks(base.codes, this.visible.value, this.selection.value?.mask ?? null);
    return { codes, legend: base.legend };
  }

  /** Text of a value for the user. */
  textOf(column: Column, row: number): string {
    const values = this.values.get(column.key);
    if (!values) return "…";
    const value = values[row];
    if (column.kind === "category")
      return (value as number) < 0 ? "missing" : (column.categories[value as number] ?? "");
    if (column.kind === "text") return String(value ?? "");
    return formatNumber(value as number);
  }

  /** The name of a row: its identifier where there is one. */
  title(row: number): string {
    void this.columnsVersion.value;
    const id = this.view.value?.columns.find((column) => column.role === "id");
    return id && this.values.has(id.key) ? this.textOf(id, row) : `row ${row}`;
  }

  bumpPoints(): void {
    this.pointsVersion.value++;
  }

  /** Run an action; what goes wrong is shown to the user. */
  async attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      const fault = faultOf(error);
      if (fault.code === "unauthorized") this.fault.value = fault;
      else this.tell(fault.message, fault.remedy, true);
    }
  }

  tell(text: string, remedy = "", bad = false): void {
    this.toast.value = { text, remedy, bad };
  }
}
