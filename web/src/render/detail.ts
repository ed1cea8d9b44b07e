// How much of the points a picture shows: their radius, opacity, and while they move a sample.

const FRAME_BUDGET = 24; // milliseconds for points while moving: 30 frames/s with the rest
const MAX_RADIUS = 6;
const FULL_AREA = 600_000; // square pixels of a panel in which points have their full radius

/** Radius in pixels of the screen: smaller for many points and small panels, larger when closer. */
export function radiusOf(n: number, area: number, closeness: number): number {
  const base = n <= 2000 ? 3.5 : n <= 20_000 ? 2.2 : n <= 200_000 ? 1.3 : 0.7;
  const small = Math.max(0.6, Math.min(1, Math.sqrt(area / FULL_AREA)));
  return Math.min(MAX_RADIUS, Math.max(0.6, base * small) * Math.max(1, closeness) ** 0.35);
}

/** Every how many points one is drawn, so that a frame keeps its time. */
export function sampleStep(n: number, nanosPerPoint: number): number {
  return Math.max(1, Math.ceil((nanosPerPoint * n) / 1e6 / FRAME_BUDGET));
}

/** How much one point shades a pixel: a little in a crowded map, visibly in a sparse one. */
export function shadeOf(n: number, area: number): number {
  const perPixel = n / Math.max(1, area);
  return Math.max(0.12, Math.min(1.2, 1 / (0.4 + 1.5 * perPixel)));
}
