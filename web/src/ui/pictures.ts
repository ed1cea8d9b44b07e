// The panels as one picture, with names and legend: PNG of what the canvases show, SVG of shapes.
import { BACKGROUND, css } from "../render/colors";
import type { PanelView } from "../render/panel_view";
import { makeLooks, type Legend } from "../state/coloring";
import { formatNumber } from "../state/format";
import { type Store } from "../state/store";

const GAP = 12;
const HEAD = 26; // pixels for the name of a panel
const LEGEND_WIDTH = 170;
const LINE = 18;
/** Beyond it an SVG holds the points as one image: so many shapes no program opens. */
export const MAX_SVG_POINTS = 20_000;

interface Cell {
  view: PanelView;
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

function arrange(store: Store, views: readonly PanelView[]): { cells: Cell[]; width: number; height: number } {
  const across = views.length > 1 ? 2 : 1;
  const sizes = views.map((view) => view.canvasSize());
  const wide = Math.max(...sizes.map((size) => size.width));
  const tall = Math.max(...sizes.map((size) => size.height));
  const cells = views.map((view, i) => {
    const slot = view.slot();
    return {
      view,
      name: (slot && store.panel(slot.panel)?.name) ?? "",
      x: GAP + (i % across) * (wide + GAP),
      y: GAP + Math.floor(i / across) * (tall + HEAD + GAP),
      ...sizes[i]!,
    };
  });
  const rows = Math.ceil(views.length / across);
  return { cells, width: across * (wide + GAP) + GAP + LEGEND_WIDTH, height: rows * (tall + HEAD + GAP) + GAP };
}

interface Entry {
  color: string;
  text: string;
}

function legendEntries(store: Store, legend: Legend): Entry[] {
  const looks = makeLooks(legend, store.theme.value);
  const colorAt = (code: number): string => css([looks[code]!.red, looks[code]!.green, looks[code]!.blue]);
  if (legend.kind === "classes")
    return legend.names.slice(0, 30).map((text, code) => ({ color: colorAt(code), text }));
  if (legend.kind === "scale")
    return [0, 25, 50, 75, 99].map((code) => ({
      color: colorAt(code),
      text: formatNumber(legend.low + ((legend.high - legend.low) * code) / 99),
    }));
  return [];
}

function legendOf(store: Store): { title: string; entries: Entry[] } {
  const slot = store.slots.value[0];
  const legend: Legend = slot ? store.coloringOf(slot.panel).legend : { kind: "none" };
  const title = legend.kind === "scale" ? legend.title : legend.kind === "classes" ? (store.column(legend.column)?.name ?? "") : "";
  return { title, entries: legendEntries(store, legend) };
}

const textColor = (store: Store): string => (store.theme.value === "dark" ? "#f0f3f6" : "#16191d");

export async function makePng(store: Store, views: readonly PanelView[]): Promise<Blob> {
  const { cells, width, height } = arrange(store, views);
  const ratio = views[0]?.ratio ?? 1;
  const canvas = Object.assign(document.createElement("canvas"), { width: width * ratio, height: height * ratio });
  const g = canvas.getContext("2d")!;
  g.scale(ratio, ratio);
  g.fillStyle = css(BACKGROUND[store.theme.value]);
  g.fillRect(0, 0, width, height);
  g.textBaseline = "middle";
  for (const cell of cells) {
    g.fillStyle = textColor(store);
    g.font = "600 14px system-ui, sans-serif";
    g.fillText(cell.name, cell.x, cell.y + HEAD / 2);
    for (const layer of cell.view.layers()) g.drawImage(layer, cell.x, cell.y + HEAD, cell.width, cell.height);
  }
  const { title, entries } = legendOf(store);
  const left = width - LEGEND_WIDTH + GAP;
  g.font = "600 12px system-ui, sans-serif";
  g.fillText(title, left, GAP + HEAD / 2, LEGEND_WIDTH - 2 * GAP);
  g.font = "12px system-ui, sans-serif";
  entries.forEach(({ color, text }, i) => {
    g.fillStyle = color;
    g.fillRect(left, GAP + HEAD + i * LINE, 10, 10);
    g.fillStyle = textColor(store);
    g.fillText(text, left + 16, GAP + HEAD + i * LINE + 5, LEGEND_WIDTH - 40);
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => { if (blob) resolve(blob); else reject(new Error("the picture is too large")); }, "image/png");
  });
}

const escapeXml = (text: string): string =>
  text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

export function makeSvg(store: Store, views: readonly PanelView[]): Blob {
  const { cells, width, height } = arrange(store, views);
  const ink = textColor(store);
  const { title, entries } = legendOf(store);
  const left = width - LEGEND_WIDTH + GAP;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="${ink}">`,
    `<rect width="100%" height="100%" fill="${css(BACKGROUND[store.theme.value])}"/>`,
    ...cells.map((cell, i) => svgCell(store, cell, i)),
    `<text x="${left}" y="${GAP + HEAD / 2}" font-weight="600">${escapeXml(title)}</text>`,
    ...entries.map(({ color, text }, i) => {
      const y = GAP + HEAD + i * LINE;
      return `<rect x="${left}" y="${y}" width="10" height="10" fill="${color}"/><text x="${left + 16}" y="${y + 9}">${escapeXml(text)}</text>`;
    }),
    "</svg>",
  ];
  return new Blob(parts, { type: "image/svg+xml" });
}

function svgCell(store: Store, cell: Cell, index: number): string {
  const { view, x, y, width, height } = cell;
  const [points, overlay] = view.layers();
  const body =
    (store.view.value?.n ?? 0) > MAX_SVG_POINTS
      ? `<image width="${width}" height="${height}" href="${points.toDataURL()}"/>`
      : svgPoints(store, view);
  return (
    `<g transform="translate(${x} ${y})"><text y="${HEAD / 2 + 5}" font-size="14" font-weight="600">${escapeXml(cell.name)}</text>` +
    `<clipPath id="clip${index}"><rect width="${width}" height="${height}"/></clipPath>` +
    `<g transform="translate(0 ${HEAD})" clip-path="url(#clip${index})">${body}` +
    `<image width="${width}" height="${height}" href="${overlay.toDataURL()}"/></g></g>`
  );
}

function svgPoints(store: Store, view: PanelView): string {
  const slot = view.slot()!;
  const { codes, legend } = store.coloringOf(slot.panel);
  const looks = makeLooks(legend, store.theme.value);
  const p = view.projection();
  const radius = (view.radius() / view.ratio).toFixed(1);
  const groups = new Map<number, string[]>();
  for (const row of store.order) {
    const at = looks[codes[row]!]!.weight > 0 ? view.pixelOfRow(row, p) : null;
    if (!at) continue;
    const code = codes[row]!;
    if (!groups.has(code)) groups.set(code, []);
    groups.get(code)!.push(`<circle cx="${(at.x / view.ratio).toFixed(1)}" cy="${(at.y / view.ratio).toFixed(1)}" r="${radius}"/>`);
  }
  return [...groups]
    .map(([code, circles]) => {
      const look = looks[code]!;
      const opacity = look.weight < 1 ? 0.15 : 0.85;
      return `<g fill="${css([look.red, look.green, look.blue])}" fill-opacity="${opacity}">${circles.join("")}</g>`;
    })
    .join("");
}
