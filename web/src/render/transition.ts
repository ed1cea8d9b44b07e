// Points on their way from one embedding to another.

const MILLISECONDS = 900;

export class Transition {
  /** Coordinates on the screen now. */
  readonly axes: Float32Array[];
  private readonly start: number;

  constructor(private readonly from: readonly Float32Array[], readonly to: Float32Array[], now: number) {
    this.axes = from.map((axis) => axis.slice());
    this.start = now;
  }

  /** Move the points to where they are at a time; false when they have arrived. */
  advance(now: number): boolean {
    const linear = Math.min(1, (now - this.start) / MILLISECONDS);
    const share = linear * linear * (3 - 2 * linear);
    this.to.forEach((target, j) => {
      const [source, out] = [this.from[j]!, this.axes[j]!];
      for (let i = 0; i < target.length; i++) out[i] = source[i]! + (target[i]! - source[i]!) * share;
    });
    return linear < 1;
  }
}
