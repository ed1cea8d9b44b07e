// Shapes of points as coverage masks ("stamps"), computed once per radius: copying a mask is far
// cheaper than filling a path for every point.

/** How far outside of a shape of radius 1 a position is: disc, square, triangle, cross, ... */
const SHAPES: ((x: number, y: number) => number)[] = [
  (x, y) => Math.hypot(x, y) - 1,
  (x, y) => Math.max(Math.abs(x), Math.abs(y)) - 0.9,
  (x, y) => Math.max(y - 0.7, (2 * Math.abs(x) - y - 1.1) / 2.24),
  (x, y) =>
    Math.max(
      Math.min(Math.abs(x - y), Math.abs(x + y)) / 1.41 - 0.4,
      Math.max(Math.abs(x), Math.abs(y)) - 1,
    ),
  (x, y) => (Math.abs(x) + Math.abs(y) - 1.25) / 1.41,
  (x, y) => Math.max(-y - 0.7, (2 * Math.abs(x) + y - 1.1) / 2.24),
];

/** Number of shapes; class c of a palette of ten colors has shape floor(c / 10). */
export const N_SHAPES = SHAPES.length;

export interface Stamp {
  /** Coverage of each pixel of a square of `size` pixels, 0 to 1. */
  cover: Float32Array;
  size: number;
  middle: number;
}

/** Coverage of a shape of `radius` pixels, centered in a square. */
export function makeStamp(shape: number, radius: number): Stamp {
  const size = 2 * Math.ceil(1.3 * radius + 0.5) + 1;
  const cover = new Float32Array(size * size);
  const middle = (size - 1) / 2;
  const outside = SHAPES[shape % N_SHAPES]!;
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const distance = radius * outside((x - middle) / radius, (y - middle) / radius);
      cover[y * size + x] = Math.max(0, Math.min(1, 0.5 - distance));
    }
  return { cover, size, middle };
}

/** The touched pixels of a stamp, with their shares. */
export interface Ink {
  size: number;
  middle: number;
  columns: Int32Array;
  rows: Int32Array;
  /** Offsets of the pixels into an image of a given width. */
  offsets: Int32Array;
  shares: Float32Array;
}

const MIN_SHARE = 0.02; // coverage below it is invisible

export function makeInk(stamp: Stamp, width: number): Ink {
  const touched = [...stamp.cover.keys()].filter((i) => stamp.cover[i]! > MIN_SHARE);
  const columns = Int32Array.from(touched, (i) => i % stamp.size);
  const rows = Int32Array.from(touched, (i) => Math.floor(i / stamp.size));
  return {
    size: stamp.size,
    middle: stamp.middle,
    columns,
    rows,
    offsets: rows.map((row, j) => row * width + columns[j]!),
    shares: Float32Array.from(touched, (i) => stamp.cover[i]!),
  };
}
