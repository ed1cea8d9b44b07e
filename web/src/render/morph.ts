// From one embedding to another: superimpose them, and find the points that moved most.

export interface Move {
  row: number;
  /** Where the point was, superimposed on the present embedding. */
  from: number[];
}

const MAX_MOVES = 50;

/** Coordinates `from` after the shift, scale and (in two dimensions) rotation or reflection that
 * brings them closest to `to` in least squares: Procrustes analysis. */
export function superimpose(from: readonly Float32Array[], to: readonly Float32Array[]): Float32Array[] {
  const n = from[0]!.length;
  const both = (i: number): boolean => !Number.isNaN(from[0]![i]!) && !Number.isNaN(to[0]![i]!);
  const a = from.map(() => 0);
  const b = to.map(() => 0);
  let count = 0;
  for (let i = 0; i < n; i++) {
    if (!both(i)) continue;
    count++;
    from.forEach((axis, j) => (a[j] = a[j]! + axis[i]!));
    to.forEach((axis, j) => (b[j] = b[j]! + axis[i]!));
  }
  for (let j = 0; j < from.length; j++) {
    a[j] = a[j]! / Math.max(1, count);
    b[j] = b[j]! / Math.max(1, count);
  }
  if (from.length !== 2) return scaleOnly(from, to, a, b, both);
  // In the plane: sums of products of centered coordinates give the best turn in closed form.
  let [xx, xy, yx, yy, spread] = [0, 0, 0, 0, 0];
  for (let i = 0; i < n; i++) {
    if (!both(i)) continue;
    const [x, y] = [from[0]![i]! - a[0]!, from[1]![i]! - a[1]!];
    const [u, v] = [to[0]![i]! - b[0]!, to[1]![i]! - b[1]!];
    xx += x * u;
    xy += x * v;
    yx += y * u;
    yy += y * v;
    spread += x * x + y * y;
  }
  const [turnC, turnS] = [xx + yy, xy - yx];
  const [flipC, flipS] = [xx - yy, xy + yx];
  const flip = Math.hypot(flipC, flipS) > Math.hypot(turnC, turnS);
  const [c, s] = flip ? [flipC, flipS] : [turnC, turnS];
  const k = 1 / (spread || 1);
  const sign = flip ? -1 : 1;
  const [outX, outY] = [new Float32Array(n), new Float32Array(n)];
  for (let i = 0; i < n; i++) {
    const x = from[0]![i]! - a[0]!;
    const y = sign * (from[1]![i]! - a[1]!);
    outX[i] = b[0]! + k * (c * x - s * y);
    outY[i] = b[1]! + k * (s * x + c * y);
  }
  return [outX, outY];
}

function scaleOnly(
  from: readonly Float32Array[], to: readonly Float32Array[], a: number[], b: number[], both: (i: number) => boolean,
): Float32Array[] {
  let [own, other] = [0, 0];
  from.forEach((axis, j) => {
    for (let i = 0; i < axis.length; i++)
      if (both(i)) {
        own += (axis[i]! - a[j]!) ** 2;
        other += (to[j]![i]! - b[j]!) ** 2;
      }
  });
  const scale = Math.sqrt(other / (own || 1));
  return from.map((axis, j) => axis.map((value) => b[j]! + (value - a[j]!) * scale));
}

/** The points with the longest way between two superimposed embeddings, longest first. */
export function findMoves(from: readonly Float32Array[], to: readonly Float32Array[]): Move[] {
  const n = to[0]!.length;
  const found: { row: number; far: number }[] = [];
  let least = 0;
  for (let row = 0; row < n; row++) {
    let far = 0;
    for (let j = 0; j < to.length; j++) far += (to[j]![row]! - from[j]![row]!) ** 2;
    if (!(far > least)) continue;
    found.push({ row, far });
    if (found.length < 4 * MAX_MOVES) continue;
    found.sort((p, q) => q.far - p.far);
    found.length = MAX_MOVES;
    least = found[MAX_MOVES - 1]!.far;
  }
  found.sort((p, q) => q.far - p.far);
  return found.slice(0, MAX_MOVES).map(({ row }) => ({ row, from: from.map((axis) => axis[row]!) }));
}
