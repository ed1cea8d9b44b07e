// Where the names of clusters go: the middle of each class in the embedding, without overlaps.

const MAX_SAMPLE = 1500; // points per class for its median: enough for a label

export interface Anchor {
  /** The class, whose name is the text; -1 where the text does not come from a class. */
  code: number;
  text: string;
  x: number;
  y: number;
  z: number;
  count: number;
}

/** The point of each class nearest to its coordinate-wise median, so that a label lies on points. */
export function findAnchors(axes: readonly Float32Array[], values: Int16Array, names: readonly string[]): Anchor[] {
  const nClasses = names.length;
  const counts = new Uint32Array(nClasses);
  for (const code of values) if (code >= 0) counts[code]!++;
  const rows = Array.from({ length: nClasses }, () => [] as number[]);
  const seen = new Uint32Array(nClasses);
  for (let i = 0; i < values.length; i++) {
    const code = values[i]!;
    if (code < 0 || Number.isNaN(axes[0]![i]!)) continue;
    const stride = Math.ceil(counts[code]! / MAX_SAMPLE);
    if (seen[code]!++ % stride === 0) rows[code]!.push(i);
  }
  const anchors: Anchor[] = [];
  rows.forEach((members, code) => {
    if (!members.length) return;
    const middle = axes.map((axis) => median(members.map((i) => axis[i]!)));
    let best = members[0]!;
    let least = Infinity;
    for (const i of members) {
      const far = axes.reduce((sum, axis, j) => sum + (axis[i]! - middle[j]!) ** 2, 0);
      if (far < least) [best, least] = [i, far];
    }
    anchors.push({ code, text: names[code]!, x: axes[0]![best]!, y: axes[1]![best]!, z: axes[2]?.[best] ?? 0, count: counts[code]! });
  });
  return anchors.sort((a, b) => b.count - a.count);
}

function median(values: number[]): number {
  values.sort((a, b) => a - b);
  return values[values.length >> 1]!;
}

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Whether a box is free, and if so, takes it. */
export function takeBox(taken: Box[], box: Box): boolean {
  const hit = taken.some(
    (other) => box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top,
  );
  if (!hit) taken.push(box);
  return !hit;
}

/** A place for each name beside its point, or null where it would lie on another name or point. */
export function placeNames(
  points: readonly ({ x: number; y: number } | null)[], widths: readonly number[], height: number, gap: number, taken: Box[],
): ({ x: number; y: number } | null)[] {
  // Beside the points first: all dots are in the way of all names.
  const dots = points.map((at) => at && { left: at.x - gap / 2, right: at.x + gap / 2, top: at.y - gap / 2, bottom: at.y + gap / 2 });
  for (const dot of dots) if (dot) taken.push(dot);
  return points.map((at, i) => {
    if (!at) return null;
    const width = widths[i]!;
    const beside = gap + width / 2;
    const above = gap + height / 2;
    const offsets: [number, number][] = [[beside, 0], [-beside, 0], [0, -above], [0, above], [beside, -above], [-beside, -above], [beside, above], [-beside, above]];
    for (const [dx, dy] of offsets) {
      const [x, y] = [at.x + dx, at.y + dy];
      if (takeBox(taken, { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 })) return { x, y };
    }
    return null;
  });
}
