// What part of an embedding a panel shows: a center, a scale, and for three dimensions a rotation.

export interface Camera {
  x: number;
  y: number;
  /** Pixels per unit of the embedding. */
  scale: number;
  /** Rotation in radians about the vertical and then the horizontal axis; only with three axes. */
  yaw: number;
  pitch: number;
}

export interface Bounds {
  low: [number, number, number];
  high: [number, number, number];
  /** In three dimensions: of the sphere about their middle that holds all points. */
  radius?: number;
}

/** screen x = xx X + xy Y + xz Z + x0 and the same for y; Z is ignored in two dimensions. */
export interface Projection {
  xx: number;
  xy: number;
  xz: number;
  x0: number;
  yx: number;
  yy: number;
  yz: number;
  y0: number;
}

const MARGIN_SHARE = 0.9; // share of the panel that all points fill at first

/** Smallest and largest finite value. */
export function extent(values: ArrayLike<number>): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < low) low = value;
    if (value > high && value !== Infinity) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

export function boundsOf(axes: readonly Float32Array[]): Bounds {
  const spans = [0, 1, 2].map((j) => (axes[j] ? extent(axes[j]) : ([0, 0] as [number, number])));
  return {
    low: [spans[0]![0], spans[1]![0], spans[2]![0]],
    high: [spans[0]![1], spans[1]![1], spans[2]![1]],
  };
}

/** The camera that shows all points. In three dimensions it fits their bounding sphere. */
export function fit(bounds: Bounds, width: number, height: number, dims: number): Camera {
  const spans = [0, 1, 2].map((j) => bounds.high[j]! - bounds.low[j]!);
  const wide = dims === 3 ? (bounds.radius === undefined ? Math.hypot(...spans) : 2 * bounds.radius) : spans[0]!;
  const tall = dims === 3 ? wide : spans[1]!;
  const scale = MARGIN_SHARE * Math.min(wide ? width / wide : Infinity, tall ? height / tall : Infinity);
  return {
    x: (bounds.low[0] + bounds.high[0]) / 2,
    y: (bounds.low[1] + bounds.high[1]) / 2,
    scale: Number.isFinite(scale) && scale > 0 ? scale : 1,
    yaw: dims === 3 ? 0.6 : 0,
    pitch: dims === 3 ? 0.35 : 0,
  };
}

/** The affine projection of a camera onto a panel of width x height pixels. */
export function project(camera: Camera, bounds: Bounds, width: number, height: number, dims: number): Projection {
  const { x, y, scale, yaw, pitch } = camera;
  if (dims < 3)
    return {
      xx: scale, xy: 0, xz: 0, x0: width / 2 - x * scale,
      yx: 0, yy: -scale, yz: 0, y0: height / 2 + y * scale,
    };
  // Rotation about the middle of the points; the camera's center moves the picture afterwards.
  const [cx, cy, cz] = [0, 1, 2].map((j) => (bounds.low[j]! + bounds.high[j]!) / 2) as [number, number, number];
  const [sa, ca, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  const xx = scale * ca;
  const xz = scale * sa;
  const yx = -scale * sp * sa;
  const yy = -scale * cp;
  const yz = scale * sp * ca;
  return {
    xx, xy: 0, xz, x0: width / 2 - (xx * cx + xz * cz) - (x - cx) * scale,
    yx, yy, yz, y0: height / 2 - (yx * cx + yy * cy + yz * cz) + (y - cy) * scale,
  };
}

/** The camera after zooming by `factor` about a pixel. */
export function zoomAt(camera: Camera, factor: number, px: number, py: number, width: number, height: number): Camera {
  const dx = (px - width / 2) / camera.scale;
  const dy = (height / 2 - py) / camera.scale;
  return {
    ...camera,
    x: camera.x + dx - dx / factor,
    y: camera.y + dy - dy / factor,
    scale: camera.scale * factor,
  };
}

/** The camera after moving the picture by (dx, dy) pixels. */
export function panBy(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y + dy / camera.scale };
}

/** Bounds of the axes on the screen: from the extent that came with the embedding, or else from the
 * coordinates, of which perhaps not all are there yet. */
export function boundsFrom(
  extent: readonly [number, number][], shown: readonly [number, number], axes: readonly Float32Array[],
): Bounds {
  if (!extent.length || axes.length > extent.length) return boundsOf(axes);
  const spatial = axes.length === 3;
  const chosen = spatial ? [0, 1, 2] : shown;
  const pick = (end: 0 | 1): [number, number, number] => [
    extent[chosen[0]]![end], extent[chosen[1]]![end], spatial ? extent[2]![end] : 0,
  ];
  const bounds: Bounds = { low: pick(0), high: pick(1) };
  return spatial ? { ...bounds, radius: radiusAbout(bounds, axes) } : bounds;
}

function radiusAbout({ low, high }: Bounds, axes: readonly Float32Array[]): number {
  const [x, y, z] = axes as [Float32Array, Float32Array, Float32Array];
  const [cx, cy, cz] = [0, 1, 2].map((j) => (low[j]! + high[j]!) / 2) as [number, number, number];
  let farthest = 0;
  for (let i = 0; i < x.length; i++) {
    const far = (x[i]! - cx) ** 2 + (y[i]! - cy) ** 2 + (z[i]! - cz) ** 2;
    if (far > farthest) farthest = far;
  }
  return Math.sqrt(farthest);
}
