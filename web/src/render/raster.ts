// Points to pixels in plain TypeScript. Software WebGL draws a million points in 200 ms, these loops
// in 20, and the picture is the same on every machine (docs/decisions/040).
//
// Two ways, chosen by the radius: small points are summed per pixel and shaded by density, which
// does not depend on their order; larger ones are stamped one over another in a shuffled order, so
// that the last class of a sorted file does not hide the others.
import type { Projection } from "./camera";
import { type Ink, makeInk, makeStamp, N_SHAPES } from "./marks";

/** Appearance of a code: color, weight (0 hides, small values fade) and shape. */
export interface Look {
  red: number;
  green: number;
  blue: number;
  weight: number;
  shape: number;
}

export interface Scene {
  x: Float32Array;
  y: Float32Array;
  z: Float32Array | null;
  /** Index into `looks` for each point. */
  codes: Uint8Array;
  looks: readonly Look[];
  /** Radius factor of each point; null draws all alike. */
  sizes: Float32Array | null;
  /** Order in which stamps are drawn. */
  order: Uint32Array;
}

export interface Drawing {
  width: number;
  height: number;
  radius: number;
  opacity: number;
  background: readonly [number, number, number];
  /** Draw every `step`-th point only: level of detail while the picture moves. */
  step: number;
  /** Steps of opacity toward full cover per point in density shading. */
  gain: number;
}

/** Points up to this radius are summed per pixel; larger ones are stamped. */
export const MAX_DENSITY_RADIUS = 1;
const SIZE_CLASSES = 8; // distinct radii when sizes differ
const MAX_LEVELS = 4096; // size of the table from summed weight to cover

/** Buffers of one panel, kept between frames. */
export class Raster {
  private sums = new Float32Array(0);
  private cover = new Float32Array(MAX_LEVELS + 1);
  private gain = -1;
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);

  constructor(private readonly createImage: (width: number, height: number) => ImageData) {}

  /** Draw a scene; the image is valid until the next call. Returns how many points touch it. */
  draw(scene: Scene, projection: Projection, drawing: Drawing): { image: ImageData; drawn: number } {
    const image = this.prepare(drawing);
    const dense = drawing.radius <= MAX_DENSITY_RADIUS && scene.sizes === null;
    const drawn = dense
      ? this.accumulate(scene, projection, drawing)
      : this.stamp(image, scene, projection, drawing);
    return { image, drawn };
  }

  private prepare({ width, height, background }: Drawing): ImageData {
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = this.createImage(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(pack(background[0], background[1], background[2]));
    return this.image;
  }

  /** Sum of weights and weighted colors per pixel, then color = mean, cover = f(sum of weights). */
  private accumulate(scene: Scene, p: Projection, drawing: Drawing): number {
    const { width, height, step } = drawing;
    const { x, y, z, codes, looks } = scene;
    const size = 4 * width * height;
    if (this.sums.length < size) this.sums = new Float32Array(size);
    else this.sums.fill(0, 0, size);
    const sums = this.sums;
    const table = new Float32Array(4 * 256);
    looks.forEach((look, code) => {
      const weight = look.weight * step; // a sample stands for the points that are left out
      table.set([weight, weight * look.red, weight * look.green, weight * look.blue], 4 * code);
    });
    const { xx, xz, x0, yx, yy, yz, y0 } = p;
    const n = x.length;
    let drawn = 0;
    for (let i = 0; i < n; i += step) {
      const code = codes[i]! << 2;
      const weight = table[code]!;
      if (weight === 0) continue;
      let sx = xx * x[i]! + x0;
      let sy = yy * y[i]! + y0;
      if (z !== null) {
        sx += xz * z[i]!;
        sy += yx * x[i]! + yz * z[i]!;
      }
      // NaN compares false, so that rows without coordinates are left out here too.
      if (!(sx >= 0 && sy >= 0 && sx < width && sy < height)) continue;
      const at = ((sy | 0) * width + (sx | 0)) << 2;
      sums[at] = sums[at]! + weight;
      sums[at + 1] = sums[at + 1]! + table[code + 1]!;
      sums[at + 2] = sums[at + 2]! + table[code + 2]!;
      sums[at + 3] = sums[at + 3]! + table[code + 3]!;
      drawn++;
    }
    this.resolve(drawing);
    return drawn;
  }

  private resolve({ width, height, background, gain }: Drawing): void {
    if (gain !== this.gain) {
      this.gain = gain;
      for (let level = 0; level <= MAX_LEVELS; level++)
        this.cover[level] = 1 - Math.exp((-gain * level) / LEVELS_PER_POINT);
    }
    const { sums, pixels, cover } = this;
    const [red, green, blue] = background;
    const n = width * height;
    for (let i = 0; i < n; i++) {
      const weight = sums[4 * i]!;
      if (weight === 0) continue;
      const share = cover[Math.min(MAX_LEVELS, (weight * LEVELS_PER_POINT + 0.5) | 0)]!;
      const scale = share / weight;
      const rest = 1 - share;
      pixels[i] = pack(
        (sums[4 * i + 1]! * scale + red * rest) | 0,
        (sums[4 * i + 2]! * scale + green * rest) | 0,
        (sums[4 * i + 3]! * scale + blue * rest) | 0,
      );
    }
  }

  private stamp(image: ImageData, scene: Scene, p: Projection, drawing: Drawing): number {
    const { width, height, step } = drawing;
    const { x, y, z, codes, looks, sizes, order } = scene;
    const inks = new InkTable(drawing.radius, width, sizes !== null);
    const data = image.data;
    const { xx, xz, x0, yx, yy, yz, y0 } = p;
    let drawn = 0;
    // Faded points first, so that highlighted ones lie above them.
    const faded = looks.some((look) => look.weight > 0 && look.weight < 1);
    for (let pass = faded ? 0 : 1; pass < 2; pass++)
      for (let k = 0; k < order.length; k += step) {
        const i = order[k]!;
        const look = looks[codes[i]!]!;
        if (look.weight === 0 || (faded && look.weight < 1) !== (pass === 0)) continue;
        let sx = xx * x[i]! + x0;
        let sy = yy * y[i]! + y0;
        if (z !== null) {
          sx += xz * z[i]!;
          sy += yx * x[i]! + yz * z[i]!;
        }
        const ink = inks.get(look.shape, sizes === null ? 1 : sizes[i]!);
        const left = Math.round(sx) - ink.middle;
        const top = Math.round(sy) - ink.middle;
        // A point without coordinates is at NaN, which compares false.
        if (!(left > -ink.size && top > -ink.size && left < width && top < height)) continue;
        const cut = left < 0 || top < 0 || left + ink.size > width || top + ink.size > height;
        const opacity = drawing.opacity * look.weight;
        const { red, green, blue } = look;
        const { columns, rows, offsets, shares } = ink;
        const corner = top * width + left;
        let inside = !cut;
        for (let j = 0; j < offsets.length; j++) {
          if (cut) {
            const column = left + columns[j]!;
            const row = top + rows[j]!;
            if (column < 0 || row < 0 || column >= width || row >= height) continue;
            inside = true;
          }
          const at = (corner + offsets[j]!) << 2;
          const share = shares[j]! * opacity;
          const r = data[at]!;
          const g = data[at + 1]!;
          const b = data[at + 2]!;
          data[at] = r + (red - r) * share;
          data[at + 1] = g + (green - g) * share;
          data[at + 2] = b + (blue - b) * share;
        }
        if (inside) drawn++;
      }
    return drawn;
  }
}

const LEVELS_PER_POINT = 16; // resolution of the table for faded points, which weigh less than one

/** Stamps of all shapes and size classes for one width of image, made when first needed. */
class InkTable {
  private readonly inks: (Ink | undefined)[] = [];

  constructor(
    private readonly radius: number,
    private readonly width: number,
    private readonly sized: boolean,
  ) {}

  get(shape: number, size: number): Ink {
    const level = this.sized ? Math.max(0, Math.min(SIZE_CLASSES - 1, Math.round(size * SIZE_CLASSES) - 1)) : 0;
    const key = level * N_SHAPES + (shape % N_SHAPES);
    return (this.inks[key] ??= makeInk(makeStamp(shape, this.radiusOf(level)), this.width));
  }

  /** Sizes in (0, 1] become radii between half and three times the usual one. */
  private radiusOf(level: number): number {
    return this.sized ? this.radius * (0.5 + (2.5 * (level + 1)) / SIZE_CLASSES) : this.radius;
  }
}

function pack(red: number, green: number, blue: number): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A fixed shuffle of 0..n-1, so that pictures are reproducible. */
export function shuffledOrder(n: number): Uint32Array {
  const rows = new Uint32Array(n);
  for (let i = 0; i < n; i++) rows[i] = i;
  let state = 12345;
  for (let i = n - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = state % (i + 1);
    const kept = rows[i]!;
    rows[i] = rows[j]!;
    rows[j] = kept;
  }
  return rows;
}
