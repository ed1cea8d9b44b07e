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
