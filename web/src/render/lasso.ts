// Points inside a polygon, exactly (even-odd rule): edges are sorted into horizontal bands, so that
// each of a million points meets the few edges of its band instead of all.
import type { Projection } from "./camera";

const N_BANDS = 512;

export interface Pixel {
  x: number;
  y: number;
}

/** Mark in `inside` every point whose projection lies within the polygon; returns their number. */
export function selectInside(
  polygon: readonly Pixel[],
  axes: readonly (Float32Array | null | undefined)[],
  p: Projection,
  visible: Uint8Array | null,
  inside: Uint8Array,
): number {
  if (polygon.length < 3) return 0;
  const xs = polygon.map((corner) => corner.x);
  const ys = polygon.map((corner) => corner.y);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  if (!(bottom > top)) return 0;
  const perPixel = N_BANDS / (bottom - top);
  const bands = sortEdges(polygon, top, perPixel);
  const x = axes[0]!;
  const y = axes[1]!;
  const z = axes[2] ?? null;
  let count = 0;
  for (let i = 0; i < x.length; i++) {
    if (visible !== null && visible[i] === 0) continue;
    let sx = p.xx * x[i]! + p.x0;
    let sy = p.yy * y[i]! + p.y0;
    if (z !== null) {
      sx += p.xz * z[i]!;
      sy += p.yx * x[i]! + p.yz * z[i]!;
    }
    if (!(sx >= left && sx <= right && sy >= top && sy <= bottom)) continue;
    const edges = bands[Math.min(N_BANDS - 1, ((sy - top) * perPixel) | 0)]!;
    let odd = false;
    for (let e = 0; e < edges.length; e += 4) {
      const y1 = edges[e + 1]!;
      const y2 = edges[e + 3]!;
      if (y1 > sy === y2 > sy) continue;
      const x1 = edges[e]!;
      if (sx < x1 + ((sy - y1) / (y2 - y1)) * (edges[e + 2]! - x1)) odd = !odd;
    }
    if (odd) {
      inside[i] = 1;
      count++;
    }
  }
  return count;
}

function sortEdges(polygon: readonly Pixel[], top: number, perPixel: number): Float64Array[] {
  const bands: number[][] = Array.from({ length: N_BANDS }, () => []);
  polygon.forEach((from, i) => {
    const to = polygon[(i + 1) % polygon.length]!;
    const clamp = (y: number): number =>
      Math.max(0, Math.min(N_BANDS - 1, Math.floor((y - top) * perPixel)));
    const [first, last] = [clamp(Math.min(from.y, to.y)), clamp(Math.max(from.y, to.y))];
    for (let band = first; band <= last; band++) bands[band]!.push(from.x, from.y, to.x, to.y);
  });
  return bands.map((edges) => Float64Array.from(edges));
}

/** The visible point nearest to a pixel, at most `reach` pixels away; -1 if there is none. */
export function findNearest(
  at: Pixel,
  reach: number,
  axes: readonly (Float32Array | null | undefined)[],
  p: Projection,
  visible: Uint8Array | null,
): number {
  const x = axes[0]!;
  const y = axes[1]!;
  const z = axes[2] ?? null;
  let best = -1;
  let least = reach * reach;
  for (let i = 0; i < x.length; i++) {
    let dx = p.xx * x[i]! + p.x0 - at.x;
    if (z !== null) dx += p.xz * z[i]!;
    if (!(dx < reach && dx > -reach)) continue;
    let dy = p.yy * y[i]! + p.y0 - at.y;
    if (z !== null) dy += p.yx * x[i]! + p.yz * z[i]!;
    const far = dx * dx + dy * dy;
    if (far < least && (visible === null || visible[i] !== 0)) {
      best = i;
      least = far;
    }
  }
  return best;
}
