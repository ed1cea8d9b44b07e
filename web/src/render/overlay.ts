// What lies above the points: axis names, cluster labels, lines to true neighbors, rings, new points.
import type { NewPoints } from "../data/types";
import type { Projection } from "./camera";
import { BACKGROUND, css, type Theme } from "./colors";
import { placeNames, takeBox, type Box } from "./labels";
import type { Pixel } from "./lasso";
import type { PanelView } from "./panel_view";

/** Below it a new point is unlike the training points: drawn hollow. */
export const DOUBTFUL_CONFIDENCE = 0.05;
const LABEL_CHARACTERS = 24;
const MAX_LABELS = 30;
/** Names of so many points are written beside them, as in the plots: more do not fit. */
const MAX_NAMED_POINTS = 50;

const INK: Record<Theme, { text: string; soft: string; halo: string; veil: string; near: string; missed: string; fresh: string; selection: string }> = {
  light: { text: "#16191d", soft: "#5b6470", halo: "rgba(255,255,255,.85)", veil: "rgba(255,255,255,.6)", near: "#0b62a8", missed: "#c0480b", fresh: "#c2185b", selection: "rgba(11,98,168,.14)" },
  dark: { text: "#f0f3f6", soft: "#9aa4b0", halo: "rgba(20,23,28,.85)", veil: "rgba(20,23,28,.6)", near: "#6db8ff", missed: "#ff9d5c", fresh: "#ff7eb3", selection: "rgba(109,184,255,.18)" },
};

export function drawOverlay(view: PanelView, g: CanvasRenderingContext2D): void {
  const { width, height } = g.canvas;
  g.clearRect(0, 0, width, height);
  const slot = view.slot();
  if (!slot || !view.axes.length || !width) return;
  const ink = INK[view.store.theme.peek()];
  const p = view.projection();
  drawNeighbors(view, g, p, slot.panel, ink);
  nameAxes(view, g, ink);
  drawMoves(view, g, p, ink);
  drawLabels(view, g, p, ink);
  for (const points of view.store.added.peek()) drawAdded(view, g, p, slot.panel, points, ink);
  drawMoved(view, g, p, slot.panel, ink);
  const { hovered, chosen } = view.store;
  if (hovered.peek() >= 0) ring(view, g, p, hovered.peek(), ink.text, 2);
  if (chosen.peek() >= 0) ring(view, g, p, chosen.peek(), ink.text, 3);
  if (view.lasso) drawLasso(view.lasso, g, view.ratio, ink);
}

type Ink = (typeof INK)["light"];

function nameAxes(view: PanelView, g: CanvasRenderingContext2D, ink: Ink): void {
  const slot = view.slot()!;
  const info = view.store.panel(slot.panel);
  if (!info || view.dims === 3) return;
  const { width, height } = g.canvas;
  g.fillStyle = ink.soft;
  g.strokeStyle = ink.halo;
  g.lineWidth = 3 * view.ratio;
  g.lineJoin = "round";
  g.font = `${11 * view.ratio}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "alphabetic";
  const write = (text: string, x: number, y: number): void => {
    g.strokeText(text, x, y);
    g.fillText(text, x, y);
  };
  write(info.axes[slot.axes[0]] ?? "", width / 2, height - 6 * view.ratio);
  if (info.dimensions < 2) return;
  g.save();
  g.translate(13 * view.ratio, height / 2);
  g.rotate(-Math.PI / 2);
  write(info.axes[slot.axes[1]] ?? "", 0, 0);
  g.restore();
}

/** Trails of the points that moved most between two embeddings. */
function drawMoves(view: PanelView, g: CanvasRenderingContext2D, p: Projection, ink: Ink): void {
  for (const move of view.moves.peek() ?? []) {
    const to = view.pixelOfRow(move.row, p);
    if (!to) continue;
    const from = view.pixelAt(move.from, p);
    const trail = g.createLinearGradient(from.x, from.y, to.x, to.y);
    trail.addColorStop(0, "transparent");
    trail.addColorStop(1, ink.text);
    g.beginPath();
    g.moveTo(from.x, from.y);
    g.lineTo(to.x, to.y);
    g.strokeStyle = trail;
    g.lineWidth = 1.2 * view.ratio;
    g.stroke();
  }
}

/** Lines from the chosen point to its true neighbors: dashed where they are not neighbors here. */
function drawNeighbors(view: PanelView, g: CanvasRenderingContext2D, p: Projection, panel: string, ink: Ink): void {
  const neighbors = view.store.neighbors.peek();
  const row = view.store.chosen.peek();
  const from = neighbors && row >= 0 ? view.pixelOfRow(row, p) : null;
  if (!neighbors || !from) return;
  // A veil over the other points: among thousands of them the lines would not be seen.
  g.fillStyle = ink.veil;
  g.fillRect(0, 0, g.canvas.width, g.canvas.height);
  const here = neighbors.panels[panel] ? new Set(neighbors.panels[panel]) : null;
  for (const other of neighbors.rows) {
    const to = view.pixelOfRow(other, p);
    if (!to) continue;
    const missed = here !== null && !here.has(other);
    g.beginPath();
    g.moveTo(from.x, from.y);
    g.lineTo(to.x, to.y);
    g.setLineDash(missed ? [5 * view.ratio, 4 * view.ratio] : []);
    g.strokeStyle = missed ? ink.missed : ink.near;
    g.lineWidth = 1.4 * view.ratio;
    g.stroke();
    g.setLineDash([]);
    dot(g, to, view.radius() + view.ratio, missed ? ink.missed : ink.near, true, view.ratio);
  }
}

/** Pixels of a cluster's name: 12 in a small panel, up to 20 in one that fills a projector. */
const labelSize = (width: number): number => Math.min(20, Math.max(12, width / 75));

const clamp = (x: number, low: number, high: number): number => Math.max(low, Math.min(high, x));

function drawLabels(view: PanelView, g: CanvasRenderingContext2D, p: Projection, ink: Ink): void {
  const hidden = view.store.hidden.peek().get(view.store.labelBy.peek());
  const size = labelSize(g.canvas.width / view.ratio) * view.ratio;
  g.font = `600 ${size}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  const taken: Box[] = [];
  let drawn = 0;
  for (const anchor of view.anchors) {
    if (hidden?.has(anchor.code)) continue;
    if (drawn >= MAX_LABELS) break;
    const at = view.pixelAt([anchor.x, anchor.y, anchor.z], p);
    if (!(at.x > 0 && at.y > 0 && at.x < g.canvas.width && at.y < g.canvas.height)) continue;
    const text = shorten(anchor.text);
    const half = g.measureText(text).width / 2 + 3 * view.ratio;
    // A name at the edge moves inside, so that none of it is cut.
    at.x = clamp(at.x, half, g.canvas.width - half);
    at.y = clamp(at.y, size * 0.7, g.canvas.height - size * 0.7);
    if (!takeBox(taken, { left: at.x - half, right: at.x + half, top: at.y - size * 0.7, bottom: at.y + size * 0.7 })) continue;
    g.lineWidth = 4 * view.ratio;
    g.lineJoin = "round";
    g.strokeStyle = ink.halo;
    g.strokeText(text, at.x, at.y);
    g.fillStyle = ink.text;
    g.fillText(text, at.x, at.y);
    drawn++;
  }
  drawNames(view, g, p, ink, taken);
}

/** The identifiers of few points. */
function drawNames(view: PanelView, g: CanvasRenderingContext2D, p: Projection, ink: Ink, taken: Box[]): void {
  const { store } = view;
  const about = store.view.peek();
  const id = about?.columns.find((column) => column.role === "id");
  if (!about || !id || about.n > MAX_NAMED_POINTS || !store.values.has(id.key)) return;
  const size = 12 * view.ratio;
  g.font = `${size}px system-ui, sans-serif`;
  const names = Array.from({ length: about.n }, (_, row) => shorten(store.textOf(id, row)));
  const points = names.map((_, row) => view.pixelOfRow(row, p));
  const gap = view.radius() + 3 * view.ratio;
  const { width, height } = g.canvas;
  const margin = 18 * view.ratio; // space for the names of the axes
  const far = 1e4 * view.ratio; // nothing is written beyond the edges, where it would be cut
  taken.push(
    { left: -far, right: margin, top: -far, bottom: height + far },
    { left: width, right: width + far, top: -far, bottom: height + far },
    { left: -far, right: width + far, top: height - margin, bottom: height + far },
    { left: -far, right: width + far, top: -far, bottom: 0 },
  );
  const places = placeNames(points, names.map((name) => g.measureText(name).width), 1.2 * size, gap, taken);
  g.lineWidth = 3 * view.ratio;
  g.strokeStyle = ink.halo;
  g.fillStyle = ink.text;
  places.forEach((at, row) => {
    if (!at) return;
    g.strokeText(names[row]!, at.x, at.y);
    g.fillText(names[row]!, at.x, at.y);
  });
}

const shorten = (text: string): string =>
  text.length > LABEL_CHARACTERS ? `${text.slice(0, LABEL_CHARACTERS - 1)}…` : text;

/** New points as diamonds; hollow where they are unlike the training points. */
function drawAdded(
  view: PanelView, g: CanvasRenderingContext2D, p: Projection, panel: string, points: NewPoints, ink: Ink,
): void {
  const mapped = points.panels[panel];
  if (!mapped) return;
  mapped.coordinates.forEach((coordinates, i) => {
    if (coordinates.some((value) => value === null)) return;
    const at = view.pixelAt(arrange(view, coordinates as number[]), p);
    const confidence = mapped.confidence?.[i] ?? 1;
    diamond(g, at, 6 * view.ratio, ink.fresh, confidence >= DOUBTFUL_CONFIDENCE, view);
  });
}

/** Coordinates in the order of the axes on screen. */
function arrange(view: PanelView, coordinates: readonly number[]): number[] {
  const slot = view.slot()!;
  return view.dims === 3 ? [...coordinates] : slot.axes.map((j) => coordinates[j] ?? 0);
}

/** Where the chosen row goes when its features change, with a line from where it was. */
function drawMoved(view: PanelView, g: CanvasRenderingContext2D, p: Projection, panel: string, ink: Ink): void {
  const mapped = view.store.moved.peek()?.panels[panel];
  const coordinates = mapped?.coordinates[0];
  if (!mapped || !coordinates || coordinates.some((value) => value === null)) return;
  const at = view.pixelAt(arrange(view, coordinates as number[]), p);
  const from = view.pixelOfRow(view.store.chosen.peek(), p);
  if (from) {
    g.beginPath();
    g.moveTo(from.x, from.y);
    g.lineTo(at.x, at.y);
    g.strokeStyle = ink.fresh;
    g.lineWidth = 2 * view.ratio;
    g.stroke();
  }
  diamond(g, at, 8 * view.ratio, ink.fresh, (mapped.confidence?.[0] ?? 1) >= DOUBTFUL_CONFIDENCE, view);
}

function ring(view: PanelView, g: CanvasRenderingContext2D, p: Projection, row: number, color: string, width: number): void {
  const at = view.pixelOfRow(row, p);
  if (at) dot(g, at, view.radius() + 4 * view.ratio, color, false, view.ratio * (width / 1.5));
}

function dot(g: CanvasRenderingContext2D, at: Pixel, radius: number, color: string, filled: boolean, width: number): void {
  g.beginPath();
  g.arc(at.x, at.y, radius, 0, 2 * Math.PI);
  g.strokeStyle = color;
  g.fillStyle = color;
  g.lineWidth = 1.5 * width;
  if (filled) g.fill();
  else g.stroke();
}

function diamond(g: CanvasRenderingContext2D, at: Pixel, size: number, color: string, filled: boolean, view: PanelView): void {
  g.beginPath();
  g.moveTo(at.x, at.y - size);
  g.lineTo(at.x + size, at.y);
  g.lineTo(at.x, at.y + size);
  g.lineTo(at.x - size, at.y);
  g.closePath();
  g.fillStyle = filled ? color : css(BACKGROUND[view.store.theme.peek()]);
  g.fill();
  g.lineWidth = 2 * view.ratio;
  g.strokeStyle = filled ? css(BACKGROUND[view.store.theme.peek()]) : color;
  g.stroke();
}

function drawLasso(polygon: readonly Pixel[], g: CanvasRenderingContext2D, ratio: number, ink: Ink): void {
  g.beginPath();
  polygon.forEach((corner, i) => {
    if (i) g.lineTo(corner.x, corner.y);
    else g.moveTo(corner.x, corner.y);
  });
  g.closePath();
  g.fillStyle = ink.selection;
  g.fill();
  g.strokeStyle = ink.near;
  g.lineWidth = 1.5 * ratio;
  g.stroke();
}
