// One panel: points on a canvas, and above it another for labels, lines, rings and the lasso, so
// that pointing at a point does not draw all points again.
import { effect, signal } from "@preact/signals";
import type { Slot, Store } from "../state/store";
import { makeLooks } from "../state/coloring";
import { boundsOf, type Bounds, type Camera, fit, panBy, project, type Projection, zoomAt } from "./camera";
import { BACKGROUND, css, type Theme } from "./colors";
import { type Anchor, findAnchors } from "./labels";
import { findNearest, type Pixel, selectInside } from "./lasso";
import { findMoves, type Move, superimpose } from "./morph";
import { drawOverlay } from "./overlay";
import { type Drawing, MAX_DENSITY_RADIUS, Raster, type Scene } from "./raster";

const FRAME_BUDGET = 24; // milliseconds for points while moving: 30 frames/s with the rest
const REST_MILLISECONDS = 140; // without movement, before everything is drawn in full
const MAX_RADIUS = 6;
const CLICK_PIXELS = 4; // a shorter drag is a click
const HOVER_REACH = 10;
const MORPH_MILLISECONDS = 900;
const MIN_LASSO_PIXELS = 3; // between two corners

export interface FrameStats {
  frames: number;
  lastMilliseconds: number;
  drawn: number;
  step: number;
}

export class PanelView {
  readonly stats: FrameStats = { frames: 0, lastMilliseconds: 0, drawn: 0, step: 1 };
  /** Row under the pointer with its place, for the tip of the panel. */
  readonly tip = signal<{ row: number; x: number; y: number } | null>(null);
  lasso: Pixel[] | null = null;
  anchors: Anchor[] = [];
  /** Coordinates on screen: axes chosen by the slot, perhaps in transition between two embeddings. */
  axes: Float32Array[] = [];
  private bounds: Bounds = { low: [0, 0, 0], high: [1, 1, 1] };
  private readonly raster: Raster;
  private readonly context: CanvasRenderingContext2D;
  private readonly overlayContext: CanvasRenderingContext2D;
  private camera: Camera | null = null;
  private nanosPerPoint = 40;
  private dirty = false;
  private overlayDirty = false;
  private frame = 0;
  private moving = false;
  private restTimer: ReturnType<typeof setTimeout> | undefined;
  /** Points that moved most in the last change of embedding, from where they were. */
  readonly moves = signal<Move[] | null>(null);
  private morph: { from: Float32Array[]; to: Float32Array[]; start: number } | null = null;
  private readonly stops: (() => void)[] = [];
  private fitted = "";

  constructor(
    readonly store: Store,
    readonly slot: () => Slot | undefined,
    private readonly canvas: HTMLCanvasElement,
    private readonly overlay: HTMLCanvasElement,
  ) {
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.overlayContext = overlay.getContext("2d")!;
    this.raster = new Raster((width, height) => this.context.createImageData(width, height));
    this.listen();
    const observer = new ResizeObserver(() => { this.resize(); });
    observer.observe(canvas);
    this.stops.push(() => { observer.disconnect(); });
    this.stops.push(effect(() => { this.takePoints(); }));
    this.stops.push(effect(() => {
      const slot = this.slot();
      if (slot) store.coloringOf(slot.panel);
      void store.sizes.value;
      void store.theme.value;
      this.redraw();
    }));
    this.stops.push(effect(() => {
      void [this.moves.value, store.hovered.value, store.chosen.value, store.neighbors.value, store.added.value, store.moved.value];
      this.redrawOverlay();
    }));
    this.stops.push(effect(() => { this.findLabels(); }));
    this.resize();
  }

  close(): void {
    for (const stop of this.stops) stop();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.restTimer);
  }

  // ---- data ----------------------------------------------------------------------------------

  private takePoints(): void {
    void this.store.pointsVersion.value;
    const slot = this.slot();
    const all = slot && this.store.points.get(slot.panel);
    if (!slot || !all) return;
    const chosen = slot.spatial && all.length > 2 ? all.slice(0, 3) : slot.axes.map((j) => all[j] ?? all[0]!);
    this.axes = chosen;
    const info = this.store.panel(slot.panel);
    this.bounds = boundsFrom(info?.extent, slot, chosen, slot.panel.startsWith("live:"));
    const key = `${slot.panel}/${slot.axes.join()}/${String(slot.spatial)}`;
    if (key !== this.fitted || slot.panel.startsWith("live:")) {
      this.fitted = key;
      this.camera = this.store.cameras.get(slot.id) ?? null;
    }
    this.findLabels();
    this.redraw();
  }

  private findLabels(): void {
    const { store } = this;
    void store.columnsVersion.value;
    const column = store.column(store.labelBy.value);
    const values = column && store.values.get(column.key);
    this.anchors =
      column?.kind === "category" && values && this.axes.length
        ? findAnchors(this.axes, values as Int16Array, column.categories.length)
        : [];
    this.redrawOverlay();
  }

  get dims(): number {
    return this.axes.length;
  }

  /** The current camera; at first it shows all points. */
  view(): Camera {
    if (!this.camera) {
      this.camera = fit(this.bounds, this.canvas.width, this.canvas.height, this.dims);
    }
    return this.camera;
  }

  projection(): Projection {
    return project(this.view(), this.bounds, this.canvas.width, this.canvas.height, this.dims);
  }

  get ratio(): number {
    return this.canvas.width / (this.canvas.clientWidth || 1);
  }

  /** How much closer than at first. */
  private closeness(): number {
    return this.view().scale / fit(this.bounds, this.canvas.width, this.canvas.height, this.dims).scale;
  }

  radius(): number {
    const n = this.store.view.value?.n ?? 0;
    const base = n <= 2000 ? 3.5 : n <= 20_000 ? 2.2 : n <= 200_000 ? 1.3 : 0.7;
    const small = Math.min(1, Math.sqrt((this.canvas.clientWidth * this.canvas.clientHeight) / 600_000));
    return Math.min(MAX_RADIUS, Math.max(0.6, base * Math.max(0.6, small)) * Math.max(1, this.closeness()) ** 0.35) * this.ratio;
  }

  // ---- drawing -------------------------------------------------------------------------------

  redraw(): void {
    this.dirty = true;
    this.schedule();
  }

  redrawOverlay(): void {
    this.overlayDirty = true;
    this.schedule();
  }

  private schedule(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.advanceMorph();
      if (this.dirty) this.draw();
      if (this.overlayDirty) {
        this.overlayDirty = false;
        drawOverlay(this, this.overlayContext);
      }
      if (this.morph) this.redraw();
    });
  }

  private draw(): void {
    this.dirty = false;
    this.overlayDirty = true;
    const { width, height } = this.canvas;
    const slot = this.slot();
    const theme = this.store.theme.value;
    if (!width || !slot) return;
    if (!this.axes.length) {
      this.context.fillStyle = css(BACKGROUND[theme]);
      this.context.fillRect(0, 0, width, height);
      return;
    }
    const start = performance.now();
    const scene = this.scene(slot, theme);
    const drawing = this.drawing(theme, scene);
    const { image, drawn } = this.raster.draw(scene, this.projection(), drawing);
    this.context.putImageData(image, 0, 0);
    const spent = performance.now() - start;
    this.nanosPerPoint = (0.5 * this.nanosPerPoint) + (0.5 * 1e6 * spent * drawing.step) / Math.max(1, scene.x.length);
    Object.assign(this.stats, {
      frames: this.stats.frames + 1, lastMilliseconds: spent, drawn: drawn * drawing.step, step: drawing.step,
    });
    this.canvas.dataset.drawn = String(drawn);
    if (!this.moving) this.canvas.dataset.complete = String(this.stats.frames);
  }

  private scene(slot: Slot, theme: Theme): Scene {
    const { store } = this;
    const { codes, legend } = store.coloringOf(slot.panel);
    const sizes = store.sizes.peek();
    return {
      x: this.axes[0]!, y: this.axes[1]!, z: this.axes[2] ?? null,
      codes, looks: makeLooks(legend, theme), sizes, order: store.order,
    };
  }

  private drawing(theme: Theme, scene: Scene): Drawing {
    const { width, height } = this.canvas;
    const n = scene.x.length;
    const radius = this.radius();
    const full = (this.nanosPerPoint * n) / 1e6;
    const step = this.moving || this.morph ? Math.max(1, Math.ceil(full / FRAME_BUDGET)) : 1;
    const [sx, sy] = [0, 1].map((j) => (this.bounds.high[j]! - this.bounds.low[j]!) * this.view().scale);
    const perPixel = n / Math.max(1, (sx ?? 1) * (sy ?? 1));
    return {
      width, height, radius, step,
      opacity: n > 20_000 ? 0.6 : 0.85,
      background: BACKGROUND[theme],
      // One point of a crowded map shades a pixel a little, one of a sparse map visibly.
      gain: radius <= MAX_DENSITY_RADIUS ? Math.max(0.12, Math.min(1.2, 1 / (0.4 + 1.5 * perPixel))) : 1,
    };
  }

  private resize(): void {
    const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
    const width = Math.round(this.canvas.clientWidth * ratio);
    const height = Math.round(this.canvas.clientHeight * ratio);
    if (!width || !height || (width === this.canvas.width && height === this.canvas.height)) return;
    const [oldWidth, oldHeight] = [this.canvas.width, this.canvas.height];
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = width;
      canvas.height = height;
    }
    const slot = this.slot();
    if (this.camera && slot && this.store.cameras.has(slot.id))
      this.camera = { ...this.camera, scale: this.camera.scale * Math.min(width / oldWidth, height / oldHeight) };
    else this.camera = null;
    // At once and not in the next frame: a resized canvas is blank until then.
    this.draw();
    this.overlayDirty = false;
    drawOverlay(this, this.overlayContext);
  }

  // ---- movement ------------------------------------------------------------------------------

  move(camera: Camera): void {
    this.camera = camera;
    const slot = this.slot();
    if (slot) this.store.cameras.set(slot.id, camera);
    this.moving = true;
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      this.moving = false;
      if (this.stats.step > 1 || this.canvas.dataset.complete !== String(this.stats.frames)) this.redraw();
    }, REST_MILLISECONDS);
    this.redraw();
  }

  showAll(): void {
    const slot = this.slot();
    if (slot) this.store.cameras.delete(slot.id);
    this.camera = null;
    this.redraw();
  }

  zoom(factor: number, at: Pixel = { x: this.canvas.width / 2, y: this.canvas.height / 2 }): void {
    this.move(zoomAt(this.view(), factor, at.x, at.y, this.canvas.width, this.canvas.height));
  }

  /** Move the points from other coordinates (superimposed by Procrustes) to the present ones. */
  animateFrom(from: Float32Array[]): void {
    const to = this.axes;
    this.moves.value = null;
    if (from.length !== to.length || from[0] === to[0] || !to.length) return;
    const aligned = superimpose(from, to);
    this.moves.value = findMoves(aligned, to);
    if (globalThis.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.redrawOverlay();
      return;
    }
    this.morph = { from: aligned, to, start: performance.now() };
    this.axes = aligned.map((axis) => axis.slice());
    this.redraw();
  }

  private advanceMorph(): void {
    if (!this.morph) return;
    const { from, to, start } = this.morph;
    const linear = Math.min(1, (performance.now() - start) / MORPH_MILLISECONDS);
    const share = linear * linear * (3 - 2 * linear);
    this.dirty = true;
    if (linear >= 1) {
      this.morph = null;
      this.axes = to;
      return;
    }
    to.forEach((target, j) => {
      const [source, out] = [from[j]!, this.axes[j]!];
      for (let i = 0; i < target.length; i++) out[i] = source[i]! + (target[i]! - source[i]!) * share;
    });
  }

  /** The canvases, from below to above. */
  layers(): [HTMLCanvasElement, HTMLCanvasElement] {
    return [this.canvas, this.overlay];
  }

  canvasSize(): { width: number; height: number } {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  // ---- hands ---------------------------------------------------------------------------------

  private pixelOf(event: { clientX: number; clientY: number }): Pixel {
    const box = this.overlay.getBoundingClientRect();
    return { x: (event.clientX - box.left) * this.ratio, y: (event.clientY - box.top) * this.ratio };
  }

  private listen(): void {
    const { overlay } = this;
    const fingers = new Map<number, Pixel>();
    let travel = 0;
    const apart = (): number => {
      const [a, b] = [...fingers.values()];
      return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
    };
    const on = <K extends keyof HTMLElementEventMap>(
      name: K, listener: (event: HTMLElementEventMap[K]) => void, options?: AddEventListenerOptions,
    ): void => {
      overlay.addEventListener(name, listener, options);
      this.stops.push(() => { overlay.removeEventListener(name, listener); });
    };
    on("pointerdown", (event) => {
      if (event.button > 1) return;
      const at = this.pixelOf(event);
      fingers.set(event.pointerId, at);
      overlay.setPointerCapture(event.pointerId);
      travel = 0;
      const wanted = this.store.tool.value === "lasso" || event.shiftKey;
      this.lasso = wanted && fingers.size === 1 ? [at] : null;
    });
    on("pointermove", (event) => {
      const at = this.pixelOf(event);
      const before = fingers.get(event.pointerId);
      if (!before) {
        this.hover(at);
        return;
      }
      const span = apart();
      fingers.set(event.pointerId, at);
      travel += Math.hypot(at.x - before.x, at.y - before.y);
      if (fingers.size === 2) {
        this.lasso = null;
        this.zoom(apart() / (span || 1), at);
      } else if (this.lasso) this.extendLasso(at);
      else if (this.dims === 3 && !event.altKey) {
        const camera = this.view();
        const turn = 0.008 / this.ratio;
        this.move({ ...camera, yaw: camera.yaw + (at.x - before.x) * turn, pitch: camera.pitch + (at.y - before.y) * turn });
      } else this.move(panBy(this.view(), at.x - before.x, at.y - before.y));
    });
    on("pointerup", (event) => {
      fingers.delete(event.pointerId);
      const polygon = this.lasso;
      this.lasso = null;
      if (travel < CLICK_PIXELS * this.ratio) this.click(this.pixelOf(event));
      else if (polygon) this.finishLasso(polygon, event);
      this.redrawOverlay();
    });
    on("pointercancel", (event) => {
      fingers.delete(event.pointerId);
      this.lasso = null;
      this.redrawOverlay();
    });
    on("pointerleave", () => { this.hover(null); });
    on("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 500), this.pixelOf(event));
    }, { passive: false });
    on("dblclick", () => { this.showAll(); });
    on("keydown", (event) => { this.press(event); });
  }

  private extendLasso(at: Pixel): void {
    const last = this.lasso!.at(-1)!;
    if (Math.hypot(at.x - last.x, at.y - last.y) < MIN_LASSO_PIXELS * this.ratio) return;
    this.lasso!.push(at);
    this.redrawOverlay();
  }

  private finishLasso(polygon: Pixel[], event: { ctrlKey: boolean; metaKey: boolean; altKey: boolean }): void {
    const { store } = this;
    const inside = new Uint8Array(store.view.value!.n);
    selectInside(polygon, this.axes, this.projection(), store.visible.value, inside);
    const before = store.selection.value?.mask;
    if (before && (event.ctrlKey || event.metaKey)) for (let i = 0; i < inside.length; i++) inside[i] = inside[i]! | before[i]!;
    if (before && event.altKey) for (let i = 0; i < inside.length; i++) inside[i] = before[i]! & (1 - inside[i]!);
    store.select(inside);
  }

  private nearest(at: Pixel): number {
    if (!this.axes.length) return -1;
    const reach = this.radius() + HOVER_REACH * this.ratio;
    return findNearest(at, reach, this.axes, this.projection(), this.store.visible.value);
  }

  private hover(at: Pixel | null): void {
    const row = at && !this.moving ? this.nearest(at) : -1;
    this.store.hovered.value = row;
    this.tip.value = row < 0 || !at ? null : { row, x: at.x / this.ratio, y: at.y / this.ratio };
  }

  private click(at: Pixel): void {
    const row = this.nearest(at);
    if (row < 0 && this.store.chosen.value < 0) this.store.select(null);
    void this.store.choose(row);
  }

  private press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey) return;
    const step = 40 * this.ratio;
    const shift = (dx: number, dy: number) => (): void => { this.move(panBy(this.view(), dx, dy)); };
    const keys: Record<string, () => void> = {
      ArrowLeft: shift(step, 0),
      ArrowRight: shift(-step, 0),
      ArrowUp: shift(0, step),
      ArrowDown: shift(0, -step),
      "+": () => { this.zoom(1.3); },
      "=": () => { this.zoom(1.3); },
      "-": () => { this.zoom(1 / 1.3); },
      "0": () => { this.showAll(); },
      Enter: () => { this.click({ x: this.canvas.width / 2, y: this.canvas.height / 2 }); },
      n: () => { this.nextNeighbor(); },
      Escape: () => {
        if (this.store.chosen.value >= 0) void this.store.choose(-1);
        else this.store.select(null);
      },
    };
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** From the chosen point to its nearest true neighbor. */
  private nextNeighbor(): void {
    const next = this.store.neighbors.value?.rows[0];
    if (next !== undefined) void this.store.choose(next);
  }

  /** Pixel of a row, null where the panel does not hold it. */
  pixelOfRow(row: number, p: Projection): Pixel | null {
    const x = this.axes[0]?.[row];
    const y = this.axes[1]?.[row];
    if (x === undefined || y === undefined || Number.isNaN(x)) return null;
    return this.pixelAt([x, y, this.axes[2]?.[row] ?? 0], p);
  }

  /** Pixel of coordinates in the order of the embedding's axes. */
  pixelAt(coordinates: readonly number[], p: Projection): Pixel {
    const [x, y, z] = [coordinates[0]!, coordinates[1] ?? 0, coordinates[2] ?? 0];
    return this.dims === 3
      ? { x: p.xx * x + p.xz * z + p.x0, y: p.yx * x + p.yy * y + p.yz * z + p.y0 }
      : { x: p.xx * x + p.x0, y: p.yy * y + p.y0 };
  }
}

function boundsFrom(
  extent: [number, number][] | undefined, slot: Slot, axes: readonly Float32Array[], live: boolean,
): Bounds {
  if (live || !extent?.length || axes.length > extent.length) return boundsOf(axes);
  const chosen = axes.length === 3 ? [0, 1, 2] : slot.axes;
  const pick = (end: 0 | 1): [number, number, number] => [
    extent[chosen[0]!]![end], extent[chosen[1]!]![end], axes.length === 3 ? extent[2]![end] : 0,
  ];
  return { low: pick(0), high: pick(1) };
}
