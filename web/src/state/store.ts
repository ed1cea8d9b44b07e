// All state of the page as signals; components and panels read them, actions change them.
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Client, Values } from "../data/client";
import { faultOf, FaultError } from "../data/transport";
import type {
  CategoryColumn, Column, Comparison, Evidence, EvidenceName, Fault, Job, Neighbors, NewPoints,
  PanelInfo, Placement, Quality, View,
} from "../data/types";
import type { Camera } from "../render/camera";
import type { Theme } from "../render/colors";
import { shuffledOrder } from "../render/raster";
import { applyMasks, colorByColumn, colorByEvidence, type Coloring, colorPlain } from "./coloring";
import { applyFilters, findText, rowsOf } from "./filters";

export const MAX_PANELS = 4;
export const N_NEIGHBORS = 15; // true neighbors shown for a chosen point
const POLL_MILLISECONDS = 300;
const MAX_ROWS_COLUMNS_TEXT = 200_000; // texts loaded into the page for search without a server

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
  readonly theme: ReadonlySignal<Theme> = computed(() =>
    this.themeChoice.value === "auto" ? (this.systemDark.value ? "dark" : "light") : this.themeChoice.value,
  );

  /** Order in which points are drawn. */
  order: Uint32Array = new Uint32Array(0);
  private nextSlot = 1;
  private readonly columnRequests = new Map<string, Promise<void>>();

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

  // ---- reading -----------------------------------------------------------------------------

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

  // ---- loading -----------------------------------------------------------------------------

  async load(): Promise<void> {
    try {
      const view = await this.client.getView();
      this.order = shuffledOrder(view.n);
      batch(() => {
        this.view.value = view;
        const label = view.columns.find((column) => column.role === "label");
        this.colorBy.value = label?.key ?? "";
        this.labelBy.value = label?.kind === "category" ? label.key : "";
        this.slots.value = view.panels.slice(0, MAX_PANELS).map((panel) => this.makeSlot(panel));
        this.loading.value = "coordinates";
      });
      const wanted = new Set([this.colorBy.value, ...this.columnsForTitle()]);
      await Promise.all([
        ...this.slots.value.map((slot) => this.loadPoints(slot.panel)),
        ...[...wanted].map((key) => this.loadColumn(key)),
      ]);
      this.loading.value = "";
      if (view.can.run) await this.pollJobs();
    } catch (error) {
      this.fault.value = faultOf(error);
    }
  }

  private columnsForTitle(): string[] {
    const view = this.view.value!;
    return view.n > MAX_ROWS_COLUMNS_TEXT
      ? []
      : view.columns.filter((column) => column.role === "id").map((column) => column.key);
  }

  async loadPoints(key: string): Promise<void> {
    const panel = this.panel(key);
    if (!panel || this.points.has(key)) return;
    const n = this.view.value!.n;
    const axes = Array.from({ length: Math.max(2, panel.dimensions) }, () => new Float32Array(n).fill(NaN));
    this.points.set(key, axes);
    await this.client.getPoints(panel, () => this.bumpPoints(), axes);
    if (panel.dimensions === 1) spreadHeights(axes[1]!, panel.extent[0]);
    this.bumpPoints();
  }

  private bumpPoints(): void {
    this.pointsVersion.value++;
  }

  /** Load the values of a column once; nothing happens for an unknown key. */
  loadColumn(key: string): Promise<void> {
    const column = this.column(key);
    if (!column) return Promise.resolve();
    let request = this.columnRequests.get(key);
    if (!request) {
      request = this.client.getColumn(column).then((values) => {
        this.values.set(key, values);
        this.columnsVersion.value++;
      });
      this.columnRequests.set(key, request);
    }
    return request;
  }

  async loadQuality(key: string): Promise<void> {
    if (!this.view.value?.can.quality || this.quality.value[key]?.state === "ready") return;
    if (this.quality.value[key]?.state === "computing") return;
    for (;;) {
      let found: Quality;
      try {
        found = await this.client.getQuality(key);
      } catch (error) {
        found = { state: "failed", fault: faultOf(error) };
      }
      this.quality.value = { ...this.quality.value, [key]: found };
      if (found.state !== "computing") break;
      await sleep(POLL_MILLISECONDS);
    }
  }

  async loadEvidence(key: string): Promise<void> {
    if (this.evidence.has(key)) return;
    await this.loadQuality(key);
    if (this.quality.value[key]?.state !== "ready") return;
    await this.attempt(async () => {
      this.evidence.set(key, await this.client.getEvidence(key));
      this.evidenceVersion.value++;
    });
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

  // ---- panels ------------------------------------------------------------------------------

  private makeSlot(panel: PanelInfo): Slot {
    return { id: this.nextSlot++, panel: panel.key, axes: [0, 1], spatial: false };
  }

  async addSlot(key: string): Promise<void> {
    const panel = this.panel(key);
    if (!panel) return;
    if (this.slots.value.length < MAX_PANELS) this.slots.value = [...this.slots.value, this.makeSlot(panel)];
    else this.slots.value = [...this.slots.value.slice(0, -1), this.makeSlot(panel)];
    await this.attempt(() => this.loadPoints(key));
    if (this.evidenceName()) await this.loadEvidence(key);
  }

  async changeSlot(id: number, change: Partial<Slot>): Promise<void> {
    if (change.panel !== undefined || change.axes !== undefined || change.spatial !== undefined)
      this.cameras.delete(id);
    this.slots.value = this.slots.value.map((slot) => (slot.id === id ? { ...slot, ...change } : slot));
    const key = change.panel;
    if (key === undefined) return;
    await this.attempt(() => this.loadPoints(key));
    if (this.evidenceName()) await this.loadEvidence(key);
  }

  removeSlot(id: number): void {
    batch(() => {
      this.slots.value = this.slots.value.filter((slot) => slot.id !== id);
      this.focus.value = Math.min(this.focus.value, Math.max(0, this.slots.value.length - 1));
    });
    this.cameras.delete(id);
  }

  // ---- colors and filters --------------------------------------------------------------------

  async chooseColor(choice: string): Promise<void> {
    this.colorBy.value = choice;
    if (this.evidenceName())
      await Promise.all(this.slots.value.map((slot) => this.loadEvidence(slot.panel)));
    else await this.attempt(() => this.loadColumn(choice));
  }

  async chooseSize(key: string): Promise<void> {
    this.sizeBy.value = key;
    await this.attempt(() => this.loadColumn(key));
  }

  async chooseLabels(key: string): Promise<void> {
    this.labelBy.value = key;
    await this.attempt(() => this.loadColumn(key));
  }

  /** Hide or show a class; `only` shows nothing else (or everything again). */
  toggleClass(column: CategoryColumn, code: number, only: boolean): void {
    const codes = new Set(this.hidden.value.get(column.key));
    const all = [...column.categories.keys(), ...(column.missing > 0 ? [-1] : [])];
    if (only) {
      const alone = codes.size === all.length - 1 && !codes.has(code);
      codes.clear();
      if (!alone) for (const other of all) if (other !== code) codes.add(other);
    } else if (!codes.delete(code)) codes.add(code);
    this.hidden.value = new Map(this.hidden.value).set(column.key, codes);
  }

  async setRange(key: string, range: readonly [number, number] | null): Promise<void> {
    const ranges = new Map(this.ranges.value);
    if (range === null) ranges.delete(key);
    else ranges.set(key, range);
    await this.attempt(() => this.loadColumn(key));
    this.ranges.value = ranges;
  }

  async search(text: string): Promise<void> {
    this.query.value = text;
    if (!text.trim()) {
      this.matches.value = null;
      return;
    }
    await this.attempt(async () => {
      const view = this.view.value!;
      const rows = view.can.search ? (await this.client.search(text)).rows : await this.searchHere(text);
      if (this.query.value !== text) return; // a later search is under way
      this.matches.value = maskOf(view.n, rows);
    });
  }

  private async searchHere(text: string): Promise<number[]> {
    const view = this.view.value!;
    const columns = view.columns.filter((column) => column.kind !== "number" || column.role === "id");
    await Promise.all(columns.map((column) => this.loadColumn(column.key)));
    return findText(view.n, text, columns.map((column) => (row: number) => this.textOf(column, row)));
  }

  clearFilters(): void {
    batch(() => {
      this.hidden.value = new Map();
      this.ranges.value = new Map();
      this.query.value = "";
      this.matches.value = null;
    });
  }

  // ---- selection and points --------------------------------------------------------------------

  select(mask: Uint8Array | null): void {
    this.comparison.value = null;
    if (mask === null) {
      this.selection.value = null;
      return;
    }
    let count = 0;
    for (const value of mask) count += value;
    this.selection.value = count > 0 ? { mask, count } : null;
  }

  selectRows(rows: readonly number[]): void {
    this.select(maskOf(this.view.value!.n, rows));
  }

  selectedRows(): number[] {
    return this.selection.value ? rowsOf(this.selection.value.mask) : [];
  }

  async compareSelection(): Promise<void> {
    const rows = this.selectedRows();
    await this.attempt(async () => {
      const found = await this.client.compare(rows);
      this.comparison.value = found;
    });
  }

  async choose(row: number): Promise<void> {
    batch(() => {
      this.chosen.value = row;
      this.neighbors.value = null;
      this.moved.value = null;
      if (row >= 0) this.tab.value = "point";
    });
    if (row < 0 || this.view.value?.can.neighbors === "none") return;
    await this.attempt(async () => {
      const found = await this.client.getNeighbors(row, N_NEIGHBORS);
      if (this.chosen.value !== row) return;
      // A static file does not tell who is near in the panels: that is in their coordinates.
      const here = Object.keys(found.panels).length ? found.panels : this.findNearRows(row, found.rows.length);
      this.neighbors.value = { ...found, panels: here };
    });
  }

  private findNearRows(row: number, k: number): Record<string, number[]> {
    const near: Record<string, number[]> = {};
    for (const [key, axes] of this.points) {
      if (Number.isNaN(axes[0]![row]!)) continue;
      const far = axes[0]!.map((_, i) => axes.reduce((sum, axis) => sum + (axis[i]! - axis[row]!) ** 2, 0));
      const others = [...far.keys()].filter((i) => i !== row && !Number.isNaN(far[i]!));
      near[key] = others.sort((i, j) => far[i]! - far[j]!).slice(0, k);
    }
    return near;
  }

  // ---- new points ----------------------------------------------------------------------------

  async addPoints(name: string, content: Uint8Array<ArrayBuffer> | string): Promise<void> {
    await this.attempt(async () => {
      const found = await this.client.addPoints(name, content);
      this.added.value = [...this.added.value, found];
      this.tell(`${found.n} new ${found.n === 1 ? "point" : "points"} added.`);
    });
  }

  async removeAdded(key: string): Promise<void> {
    await this.attempt(async () => {
      await this.client.deletePoints(key);
      this.added.value = this.added.value.filter((points) => points.key !== key);
    });
  }

  // ---- jobs ----------------------------------------------------------------------------------

  private polling = false;

  async run(job: { method: string; parameters: Record<string, unknown>; rows?: number[] }): Promise<void> {
    await this.attempt(async () => {
      const started = await this.client.startJob(job);
      this.jobs.value = [...this.jobs.value.filter((other) => other.id !== started.id), started];
      void this.pollJobs();
    });
  }

  async cancel(id: string): Promise<void> {
    await this.attempt(async () => {
      const job = await this.client.cancelJob(id);
      this.jobs.value = this.jobs.value.map((other) => (other.id === id ? job : other));
    });
  }

  /** Follow running jobs until none is left; their live embeddings appear as panels. */
  async pollJobs(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    const frames = new Map<string, number>();
    try {
      for (;;) {
        const jobs = await this.client.getJobs();
        const before = new Map(this.jobs.value.map((job) => [job.id, job.state]));
        this.jobs.value = jobs;
        for (const job of jobs) {
          if (job.state === "running" && job.frame > (frames.get(job.id) ?? 0)) {
            frames.set(job.id, job.frame);
            await this.showLive(job);
          }
          if (before.has(job.id) && before.get(job.id) !== job.state) await this.finish(job);
        }
        if (!jobs.some((job) => job.state === "queued" || job.state === "running")) break;
        await sleep(POLL_MILLISECONDS);
      }
    } catch (error) {
      const fault = faultOf(error);
      this.tell(fault.message, fault.remedy, true);
    } finally {
      this.polling = false;
    }
  }

  private async showLive(job: Job): Promise<void> {
    const key = `live:${job.id}`;
    try {
      const axes = await this.client.getLivePoints(job.id, 2);
      this.points.set(key, axes);
      if (!this.livePanels.value.some((panel) => panel.key === key)) {
        this.livePanels.value = [...this.livePanels.value, liveInfo(key, job)];
        await this.addSlot(key);
      }
      this.bumpPoints();
    } catch (error) {
      if (!(error instanceof FaultError && error.fault.code === "not_ready")) throw error;
    }
  }

  /** Replace the live panel of a job by its result, or take it away. */
  private async finish(job: Job): Promise<void> {
    if (job.state === "queued" || job.state === "running") return;
    const live = `live:${job.id}`;
    const slot = this.slots.value.find((other) => other.panel === live);
    if (job.state === "done" && job.panel !== null) {
      this.view.value = await this.client.getView();
      if (slot) await this.changeSlot(slot.id, { panel: job.panel });
      else await this.addSlot(job.panel);
      this.tell(`${job.name} is done.`);
    } else {
      if (slot) this.removeSlot(slot.id);
      if (job.fault && job.state === "failed") this.tell(job.fault.message, job.fault.remedy, true);
      else this.tell(`${job.name} was cancelled.`);
    }
    this.livePanels.value = this.livePanels.value.filter((panel) => panel.key !== live);
    this.points.delete(live);
  }
}

function liveInfo(key: string, job: Job): PanelInfo {
  return {
    key, name: `${job.name} (running)`, method: job.method, parameters: {}, dimensions: 2,
    axes: ["1", "2"], extent: [], rows: null, has_model: false, notes: [],
  };
}

/** One dimension has no height: points are spread over it by the golden ratio. */
function spreadHeights(heights: Float32Array, extent: [number, number] | undefined): void {
  const span = extent ? extent[1] - extent[0] : 1;
  for (let i = 0; i < heights.length; i++) heights[i] = span * 0.3 * ((i * 0.618034) % 1);
}

export function maskOf(n: number, rows: readonly number[]): Uint8Array {
  const mask = new Uint8Array(n);
  for (const row of rows) mask[row] = 1;
  return mask;
}

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const text = String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
}
