// What mouse and fingers do in a panel: move, zoom, turn, lasso, point at rows and choose them.
import { choose, select } from "../state/selection";
import { panBy } from "./camera";
import { findNearest, type Pixel, selectInside } from "./lasso";
import type { PanelView } from "./panel_view";

const CLICK_PIXELS = 4; // a shorter drag is a click
const HOVER_REACH = 10;
const MIN_LASSO_PIXELS = 3; // between two corners
const RADIANS_PER_PIXEL = 0.008; // speed of a turn in three dimensions

export class Pointer {
  private readonly stops: (() => void)[] = [];

  constructor(private readonly view: PanelView, private readonly overlay: HTMLCanvasElement) {
    this.listen();
  }

  close(): void {
    for (const stop of this.stops) stop();
  }

  private pixelOf(event: { clientX: number; clientY: number }): Pixel {
    const box = this.overlay.getBoundingClientRect();
    return { x: (event.clientX - box.left) * this.view.ratio, y: (event.clientY - box.top) * this.view.ratio };
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
      const wanted = this.view.store.tool.value === "lasso" || event.shiftKey;
      this.view.lasso = wanted && fingers.size === 1 ? [at] : null;
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
        this.view.lasso = null;
        this.view.zoom(apart() / (span || 1), at);
      } else if (this.view.lasso) this.extendLasso(at);
      else if (this.view.dims === 3 && !event.altKey) {
        const camera = this.view.currentCamera();
        const turn = RADIANS_PER_PIXEL / this.view.ratio;
        this.view.move({ ...camera, yaw: camera.yaw + (at.x - before.x) * turn, pitch: camera.pitch + (at.y - before.y) * turn });
      } else this.view.move(panBy(this.view.currentCamera(), at.x - before.x, at.y - before.y));
    });
    on("pointerup", (event) => {
      fingers.delete(event.pointerId);
      const polygon = this.view.lasso;
      this.view.lasso = null;
      if (travel < CLICK_PIXELS * this.view.ratio) this.click(this.pixelOf(event));
      else if (polygon) this.finishLasso(polygon, event);
      this.view.redrawOverlay();
    });
    on("pointercancel", (event) => {
      fingers.delete(event.pointerId);
      this.view.lasso = null;
      this.view.redrawOverlay();
    });
    on("pointerleave", () => { this.hover(null); });
    on("wheel", (event) => {
      event.preventDefault();
      this.view.zoom(Math.exp(-event.deltaY / 500), this.pixelOf(event));
    }, { passive: false });
    on("dblclick", () => { this.view.showAll(); });
  }

  private extendLasso(at: Pixel): void {
    const last = this.view.lasso!.at(-1)!;
    if (Math.hypot(at.x - last.x, at.y - last.y) < MIN_LASSO_PIXELS * this.view.ratio) return;
    this.view.lasso!.push(at);
    this.view.redrawOverlay();
  }

  private finishLasso(polygon: Pixel[], event: { ctrlKey: boolean; metaKey: boolean; altKey: boolean }): void {
    const { store } = this.view;
    const inside = new Uint8Array(store.view.value!.n);
    selectInside(polygon, this.view.axes, this.view.projection(), store.visible.value, inside);
    const before = store.selection.value?.mask;
    if (before && (event.ctrlKey || event.metaKey)) for (let i = 0; i < inside.length; i++) inside[i] = inside[i]! | before[i]!;
    if (before && event.altKey) for (let i = 0; i < inside.length; i++) inside[i] = before[i]! & (1 - inside[i]!);
    select(store, inside);
  }

  private nearest(at: Pixel): number {
    if (!this.view.axes.length) return -1;
    const reach = this.view.radius() + HOVER_REACH * this.view.ratio;
    return findNearest(at, reach, this.view.axes, this.view.projection(), this.view.store.visible.value);
  }

  private hover(at: Pixel | null): void {
    const row = at && !this.view.moving ? this.nearest(at) : -1;
    this.view.store.hovered.value = row;
    this.view.tip.value = row < 0 || !at ? null : { row, x: at.x / this.view.ratio, y: at.y / this.view.ratio };
  }

  /** Choose the point there; beside all points, clear what is chosen or selected. */
  click(at: Pixel): void {
    const row = this.nearest(at);
    if (row < 0 && this.view.store.chosen.value < 0) select(this.view.store, null);
    void choose(this.view.store, row);
  }
}
