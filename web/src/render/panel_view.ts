// One panel: points on a canvas, and above it another for labels, lines, rings and the lasso, so
// that pointing at a point does not draw all points again.
import { effect, signal } from "@preact/signals";
import { makeLooks } from "../state/coloring";
import type { Slot, Store } from "../state/store";
import { boundsFrom, type Bounds, type Camera, fit, project, type Projection, zoomAt } from "./camera";
import { BACKGROUND, css, type Theme } from "./colors";
import { radiusOf, sampleStep, shadeOf } from "./detail";
import { pressKey } from "./keyboard";
import { type Anchor, findAnchors } from "./labels";
import type { Pixel } from "./lasso";
import { findMoves, type Move, superimpose } from "./morph";
import { drawOverlay } from "./overlay";
import { Pointer } from "./pointer";
import { type Drawing, MAX_DENSITY_RADIUS, Raster, type Scene } from "./raster";
import { findTopics } from "./topics";
import { Transition } from "./transition";

const REST_MILLISECONDS = 140; // rest after a movement before everything is drawn in full

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
  moving = false;
  private restTimer: ReturnType<typeof setTimeout> | undefined;
  /** Points that moved most in the last change of embedding, from where they were. */
  readonly moves = signal<Move[] | null>(null);
  private transition: Transition | null = null;
  private readonly pointer: Pointer;
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
    this.pointer = new Pointer(this, overlay);
    const press = (event: KeyboardEvent): void => {
      if (!event.ctrlKey && !event.metaKey && pressKey(this, event.key)) event.preventDefault();
    };
    overlay.addEventListener("keydown", press);
    this.stops.push(() => { overlay.removeEventListener("keydown", press); });
    this.stops.push(() => { this.pointer.close(); });
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
    if (!slot) return;
    this.transition = null;
    if (!all) {
      this.axes = []; // the former embedding must not stay under the new name
      this.redraw();
      return;
    }
    const chosen = slot.spatial && all.length > 2 ? all.slice(0, 3) : slot.axes.map((j) => all[j] ?? all[0]!);
    this.axes = chosen;
    const info = this.store.panel(slot.panel);
    this.bounds = boundsFrom(slot.panel.startsWith("live:") ? [] : (info?.extent ?? []), slot.axes, chosen);
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
    this.anchors = [];
    if (values && this.axes.length) {
      if (column.kind === "category") {
        const others = column.rest ? column.categories.length - 1 : -1; // they are not a cluster
        this.anchors = findAnchors(this.axes, values as Int16Array, column.categories).filter((anchor) => anchor.code !== others);
      }
      if (column.kind === "text") this.anchors = findTopics(this.axes, values);
    }
    this.redrawOverlay();
  }

  get dims(): number {
    return this.axes.length;
  }

  /** The current camera; at first it shows all points. */
  currentCamera(): Camera {
    if (!this.camera) {
      this.camera = fit(this.bounds, this.canvas.width, this.canvas.height, this.dims);
    }
    return this.camera;
  }

  projection(): Projection {
    return project(this.currentCamera(), this.bounds, this.canvas.width, this.canvas.height, this.dims);
  }

  get ratio(): number {
    return this.canvas.width / (this.canvas.clientWidth || 1);
  }

  /** How much closer than at first. */
  private closeness(): number {
    return this.currentCamera().scale / fit(this.bounds, this.canvas.width, this.canvas.height, this.dims).scale;
  }

  radius(): number {
    const area = this.canvas.clientWidth * this.canvas.clientHeight;
    return radiusOf(this.store.view.value?.n ?? 0, area, this.closeness()) * this.ratio;
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

  /** At once and not in the next frame: a resized canvas is blank until then. */
  private drawNow(): void {
    this.draw();
    this.overlayDirty = false;
    drawOverlay(this, this.overlayContext);
  }

  private schedule(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.advanceTransition();
      if (this.dirty) this.draw();
      if (this.overlayDirty) {
        this.overlayDirty = false;
        drawOverlay(this, this.overlayContext);
      }
      if (this.transition) this.redraw();
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
    if (!this.moving && !this.store.pointRequests.has(slot.panel)) this.canvas.dataset.complete = String(this.stats.frames);
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
    const sides = [0, 1].map((j) => (this.bounds.high[j]! - this.bounds.low[j]!) * this.currentCamera().scale);
    return {
      width, height, radius,
      step: this.moving || this.transition ? sampleStep(n, this.nanosPerPoint) : 1,
      opacity: n > 20_000 ? 0.6 : 0.85,
      background: BACKGROUND[theme],
      gain: radius <= MAX_DENSITY_RADIUS ? shadeOf(n, sides[0]! * sides[1]!) : 1,
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
    this.drawNow();
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
    this.move(zoomAt(this.currentCamera(), factor, at.x, at.y, this.canvas.width, this.canvas.height));
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
    this.transition = new Transition(aligned, to, performance.now());
    this.axes = this.transition.axes;
    this.redraw();
  }

  private advanceTransition(): void {
    if (!this.transition) return;
    this.dirty = true;
    if (this.transition.advance(performance.now())) return;
    this.axes = this.transition.to;
    this.transition = null;
  }

  /** Choose the point in the middle of the panel. */
  chooseMiddle(): void {
    this.pointer.click({ x: this.canvas.width / 2, y: this.canvas.height / 2 });
  }

  /** The canvases, from below to above. */
  layers(): [HTMLCanvasElement, HTMLCanvasElement] {
    return [this.canvas, this.overlay];
  }

  canvasSize(): { width: number; height: number } {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
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
