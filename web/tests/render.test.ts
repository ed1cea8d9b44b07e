import { describe, expect, it } from "vitest";
import { boundsFrom, boundsOf, fit, panBy, project, zoomAt } from "../src/render/camera";
import { radiusOf, sampleStep, shadeOf } from "../src/render/detail";
import { pressKey } from "../src/render/keyboard";
import { findAnchors, placeNames, takeBox } from "../src/render/labels";
import { findNearest, selectInside, type Pixel } from "../src/render/lasso";
import { findMoves, superimpose } from "../src/render/morph";
import type { PanelView } from "../src/render/panel_view";
import { type Drawing, type Look, Raster, type Scene, shuffledOrder } from "../src/render/raster";
import { findTopics } from "../src/render/topics";
import { Transition } from "../src/render/transition";

function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const image = (width: number, height: number): ImageData =>
  ({ width, height, data: new Uint8ClampedArray(4 * width * height), colorSpace: "srgb" }) as unknown as ImageData;
const plain = { xx: 1, xy: 0, xz: 0, x0: 0, yx: 0, yy: 1, yz: 0, y0: 0 };
const RED: Look = { red: 200, green: 0, blue: 0, weight: 1, shape: 0 };
const BLUE: Look = { red: 0, green: 0, blue: 200, weight: 1, shape: 0 };
const HIDDEN: Look = { ...RED, weight: 0 };
const FAINT: Look = { ...RED, weight: 0.1 };

function makeScene(x: number[], y: number[], codes: number[], looks: Look[]): Scene {
  return {
    x: Float32Array.from(x), y: Float32Array.from(y), z: null,
    codes: Uint8Array.from(codes), looks, sizes: null, order: shuffledOrder(x.length),
  };
}

const drawing = (radius: number): Drawing => ({
  width: 20, height: 20, radius, opacity: 1, background: [255, 255, 255], step: 1, gain: 50,
});

const pixel = (picture: ImageData, x: number, y: number): number[] =>
  [...picture.data.slice(4 * (y * picture.width + x), 4 * (y * picture.width + x) + 3)];

describe.each([["density", 0.7], ["stamps", 3]])("points as %s", (_, radius) => {
  const draw = (scene: Scene): { image: ImageData; drawn: number } => new Raster(image).draw(scene, plain, drawing(radius));

  it("lie where they are, and nowhere else", () => {
    const { image: picture, drawn } = draw(makeScene([6, 14], [6, 13], [0, 1], [RED, BLUE]));
    expect(drawn).toBe(2);
    expect(pixel(picture, 6, 6)).toEqual([200, 0, 0]);
    expect(pixel(picture, 14, 13)).toEqual([0, 0, 200]);
    expect(pixel(picture, 6, 14)).toEqual([255, 255, 255]);
  });

  it("are left out when hidden, outside or without coordinates", () => {
    const { image: picture, drawn } = draw(makeScene([6, NaN, 600, -5], [6, 5, 6, 6], [0, 1, 1, 1], [HIDDEN, RED]));
    expect(drawn).toBe(0);
    expect(picture.data.every((value) => value === 255)).toBe(true);
  });

  it("lie above faded ones", () => {
    const looks = [FAINT, BLUE];
    for (const codes of [[0, 1], [1, 0]]) {
      const { image: picture } = draw(makeScene([10, 10], [10, 10], codes, looks));
      const [red, , blue] = pixel(picture, 10, 10);
      expect(blue! - red!).toBeGreaterThan(100);
    }
  });
});

describe("stamps at the border", () => {
  const radius = 3;
  const draw = (x: number, y: number): { image: ImageData; drawn: number } =>
    new Raster(image).draw(makeScene([x], [y], [0], [RED]), plain, drawing(radius));
  const inked = (picture: ImageData): Set<string> => {
    const found = new Set<string>();
    for (let y = 0; y < picture.height; y++)
      for (let x = 0; x < picture.width; x++) if (pixel(picture, x, y)[1]! < 255) found.add(`${x} ${y}`);
    return found;
  };

  it("are cut by it, on every side and in the corners", () => {
    const whole = inked(draw(10, 10).image);
    for (const [x, y] of [[0, 10], [19, 10], [10, 0], [10, 19], [0, 0], [19, 0], [0, 19], [19, 19], [-2, 8], [21, 12], [5, -2], [7, 21]] as const) {
      const { image: picture, drawn } = draw(x, y);
      const expected = [...whole].map((at) => at.split(" ").map(Number) as [number, number])
        .map(([column, row]) => [column + x - 10, row + y - 10] as const)
        .filter(([column, row]) => column >= 0 && row >= 0 && column < 20 && row < 20)
        .map(([column, row]) => `${column} ${row}`);
      expect(inked(picture)).toEqual(new Set(expected));
      expect(drawn).toBe(1);
    }
  });

  it("are not drawn where no pixel of theirs is inside", () => {
    for (const [x, y] of [[-4, 10], [24, 10], [10, -4], [10, 24], [-3, -3], [NaN, 10], [10, NaN]] as const)
      expect(draw(x, y).drawn).toBe(0);
  });

  it("do not vanish while the picture is moved out step by step", () => {
    let before = Infinity;
    for (let x = 10; x >= -4; x--) {
      const many = inked(draw(x, 10).image).size;
      expect(many).toBeLessThanOrEqual(before);
      if (x >= 0) expect(many).toBeGreaterThan(10);
      before = many;
    }
    expect(before).toBe(0);
  });

  it("fit into a picture that is smaller than they are", () => {
    const scene = makeScene([1], [1], [0], [RED]);
    const { image: picture, drawn } = new Raster(image).draw(scene, plain, { ...drawing(radius), width: 3, height: 2 });
    expect(drawn).toBe(1);
    expect(inked(picture).size).toBe(6);
  });
});

describe("density", () => {
  it("does not depend on the order and grows with the number of points", () => {
    const raster = new Raster(image);
    const one = { ...drawing(0.7), gain: 0.5 };
    const cover = (k: number): number => {
      const scene = makeScene(Array<number>(k).fill(5), Array<number>(k).fill(5), Array<number>(k).fill(0), [RED]);
      return 255 - pixel(raster.draw(scene, plain, one).image, 5, 5)[1]!;
    };
    expect(cover(1)).toBeCloseTo(255 * (1 - Math.exp(-0.5)), -1);
    expect(cover(4)).toBeGreaterThan(cover(2));
    const mixed = [[0, 1, 1], [1, 1, 0]].map((codes) =>
      pixel(raster.draw(makeScene([5, 5, 5], [5, 5, 5], codes, [RED, BLUE]), plain, one).image, 5, 5));
    expect(mixed[0]).toEqual(mixed[1]);
  });

  it("of a sample stands for all points", () => {
    const n = 40_000;
    const random = makeRandom(3);
    const at = Array.from({ length: n }, () => 20 * random());
    const scene = makeScene(at, at.map(() => 20 * random()), at.map(() => 0), [RED]);
    const mean = (step: number): number => {
      const { image: picture } = new Raster(image).draw(scene, plain, { ...drawing(0.7), gain: 0.01, step });
      return picture.data.reduce((sum, value) => sum + value, 0) / picture.data.length;
    };
    expect(Math.abs(mean(4) - mean(1))).toBeLessThan(2);
  });
});

describe("camera", () => {
  const bounds = boundsOf([Float32Array.of(-1, 3, NaN), Float32Array.of(2, 4, 5)]);

  it("shows all points", () => {
    expect(bounds).toEqual({ low: [-1, 2, 0], high: [3, 5, 0] });
    const camera = fit(bounds, 400, 300, 2);
    const p = project(camera, bounds, 400, 300, 2);
    for (const [x, y] of [[-1, 2], [3, 5]] as const) {
      expect(p.xx * x + p.x0).toBeGreaterThan(0);
      expect(p.xx * x + p.x0).toBeLessThan(400);
      expect(p.yy * y + p.y0).toBeGreaterThan(0);
      expect(p.yy * y + p.y0).toBeLessThan(300);
    }
  });

  it("keeps the pixel under the pointer while zooming", () => {
    const camera = fit(bounds, 400, 300, 2);
    const before = project(camera, bounds, 400, 300, 2);
    const after = project(zoomAt(camera, 2.5, 77, 33, 400, 300), bounds, 400, 300, 2);
    const [x, y] = [(77 - before.x0) / before.xx, (33 - before.y0) / before.yy];
    expect(after.xx * x + after.x0).toBeCloseTo(77);
    expect(after.yy * y + after.y0).toBeCloseTo(33);
    const moved = project(panBy(camera, 10, -4), bounds, 400, 300, 2);
    expect(moved.x0 - before.x0).toBeCloseTo(10);
    expect(moved.y0 - before.y0).toBeCloseTo(-4);
  });

  it("turns three dimensions as a rotation does: lengths seen from all sides agree", () => {
    const cube = boundsOf([Float32Array.of(-1, 1), Float32Array.of(-1, 1), Float32Array.of(-1, 1)]);
    const camera = { ...fit(cube, 100, 100, 3), scale: 1 };
    for (const yaw of [0, 0.7, 2]) {
      const p = project({ ...camera, yaw, pitch: 0.4 }, cube, 100, 100, 3);
      const rows = [[p.xx, p.xy, p.xz], [p.yx, p.yy, p.yz]] as [number[], number[]];
      const dot = (a: number[], b: number[]): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0);
      expect(dot(rows[0], rows[0])).toBeCloseTo(1);
      expect(dot(rows[1], rows[1])).toBeCloseTo(1);
      expect(dot(rows[0], rows[1])).toBeCloseTo(0);
      expect([p.x0, p.y0]).toEqual([50, 50]); // the middle of the points stays in the middle
    }
  });
});

function isInside(polygon: Pixel[], x: number, y: number): boolean {
  let odd = false;
  polygon.forEach((a, i) => {
    const b = polygon[(i + 1) % polygon.length]!;
    if (a.y > y !== b.y > y && x < a.x + ((y - a.y) / (b.y - a.y)) * (b.x - a.x)) odd = !odd;
  });
  return odd;
}

describe("lasso", () => {
  it("takes exactly the points inside, also of polygons that cross themselves", () => {
    const random = makeRandom(11);
    const axes = [0, 1].map(() => Float32Array.from({ length: 3000 }, () => 100 * random()));
    for (let trial = 0; trial < 5; trial++) {
      const polygon = Array.from({ length: 3 + 4 * trial }, () => ({ x: 120 * random() - 10, y: 120 * random() - 10 }));
      const inside = new Uint8Array(3000);
      const count = selectInside(polygon, axes, plain, null, inside);
      const wanted = [...axes[0]!].map((x, i) => isInside(polygon, x, axes[1]![i]!));
      expect([...inside].map(Boolean)).toEqual(wanted);
      expect(count).toBe(wanted.filter(Boolean).length);
    }
  });

  it("leaves out what is filtered or has no coordinates", () => {
    const square = [{ x: 0, y: 0 }, { x: 9, y: 0 }, { x: 9, y: 9 }, { x: 0, y: 9 }];
    const inside = new Uint8Array(3);
    const axes = [Float32Array.of(1, 2, NaN), Float32Array.of(1, 2, 3)];
    expect(selectInside(square, axes, plain, Uint8Array.of(0, 1, 1), inside)).toBe(1);
    expect([...inside]).toEqual([0, 1, 0]);
    expect(selectInside(square.slice(0, 2), axes, plain, null, inside)).toBe(0);
  });

  it("finds the nearest visible point within reach", () => {
    const axes = [Float32Array.of(10, 12, 40), Float32Array.of(10, 10, 40)];
    expect(findNearest({ x: 10.4, y: 10 }, 5, axes, plain, null)).toBe(0);
    expect(findNearest({ x: 10.4, y: 10 }, 5, axes, plain, Uint8Array.of(0, 1, 1))).toBe(1);
    expect(findNearest({ x: 25, y: 25 }, 5, axes, plain, null)).toBe(-1);
  });
});

describe("animation", () => {
  it("superimposes an embedding that is only turned, mirrored, scaled and shifted", () => {
    const random = makeRandom(5);
    const to = [0, 1].map(() => Float32Array.from({ length: 50 }, () => random()));
    const [c, s] = [Math.cos(1.1), Math.sin(1.1)];
    for (const sign of [1, -1]) {
      const from = [
        to[0]!.map((x, i) => 7 + 3 * (c * x - s * sign * to[1]![i]!)),
        to[0]!.map((x, i) => -2 + 3 * (s * x + c * sign * to[1]![i]!)),
      ];
      superimpose(from, to).forEach((axis, j) => {
        axis.forEach((value, i) => { expect(value).toBeCloseTo(to[j]![i]!, 4); });
      });
    }
  });

  it("names the points that moved most, farthest first", () => {
    const to = [new Float32Array(300), new Float32Array(300)];
    const from = to.map((axis) => axis.slice());
    from[0]![17] = 5;
    from[1]![250] = -9;
    from[0]![3] = NaN; // a row that one embedding does not hold
    expect(findMoves(from, to)).toEqual([{ row: 250, from: [0, -9] }, { row: 17, from: [5, 0] }]);
  });
});

describe("labels", () => {
  it("lie on a point of their class, the largest class first", () => {
    const axes = [Float32Array.of(0, 1, 2, 50, 51, NaN), Float32Array.of(0, 0, 0, 9, 9, 0)];
    const anchors = findAnchors(axes, Int16Array.of(1, 1, 1, 0, 0, -1), ["a", "b"]);
    expect(anchors.map((anchor) => anchor.code)).toEqual([1, 0]);
    expect([anchors[0]!.x, anchors[0]!.y]).toEqual([1, 0]);
  });

  it("do not overlap", () => {
    const taken = [{ left: 0, top: 0, right: 10, bottom: 10 }];
    expect(takeBox(taken, { left: 5, top: 5, right: 15, bottom: 15 })).toBe(false);
    expect(takeBox(taken, { left: 11, top: 0, right: 15, bottom: 5 })).toBe(true);
    expect(taken).toHaveLength(2);
  });

  it("writes names beside their points, where neither names nor points are in the way", () => {
    const points = [{ x: 50, y: 50 }, { x: 60, y: 50 }, null, { x: 200, y: 50 }];
    const places = placeNames(points, [30, 30, 30, 30], 10, 6, []);
    expect(places[2]).toBeNull();
    expect(places[3]).toEqual({ x: 221, y: 50 });
    expect(places[0]!.x).toBeLessThan(50); // at its right is the next point
    const boxes = places.filter((at) => at).map((at) => ({ left: at!.x - 15, right: at!.x + 15, top: at!.y - 5, bottom: at!.y + 5 }));
    for (const [i, box] of boxes.entries()) {
      expect(takeBox(boxes.filter((_, j) => j !== i), { ...box })).toBe(true);
      for (const at of points) if (at) expect(at.x > box.left && at.x < box.right && at.y > box.top && at.y < box.bottom).toBe(false);
    }
    // No room at all: the name is left out.
    expect(placeNames([{ x: 0, y: 0 }], [30], 10, 6, [{ left: -99, right: 99, top: -99, bottom: 99 }])).toEqual([null]);
  });
});

describe("topics", () => {
  it("are the words that a crowded region has and others have not", () => {
    const random = makeRandom(5);
    const [x, y] = [new Float32Array(300), new Float32Array(300)];
    const texts = Array.from({ length: 300 }, (_, i) => {
      [x[i], y[i]] = [(i % 3) * 10 + random(), ((i % 3) % 2) * 10 + random()];
      return `the ${["River", "mountain", "city"][i % 3]!} by the sea`;
    });
    const found = findTopics([x, y], texts);
    expect(found.map((anchor) => anchor.text).sort()).toEqual(["city", "mountain", "river"]);
    const river = found.find((anchor) => anchor.text === "river")!;
    expect(river.count).toBe(100);
    expect(Math.abs(river.x - 0.5) + Math.abs(river.y - 0.5)).toBeLessThan(0.3);
  });

  it("are none where all rows say the same", () => {
    const axis = Float32Array.from({ length: 50 }, (_, i) => i % 7);
    expect(findTopics([axis, axis], Array.from({ length: 50 }, () => "same words"))).toEqual([]);
  });
});

describe("detail", () => {
  it("draws a sample only where a frame would take too long", () => {
    expect(sampleStep(1000, 40)).toBe(1);
    expect(sampleStep(5_000_000, 40)).toBe(9); // 200 ms of points in frames of 24 ms
  });

  it("makes points smaller with their number and larger with closeness, within limits", () => {
    const far = [1000, 10_000, 100_000, 1_000_000].map((n) => radiusOf(n, 600_000, 1));
    expect([...far].sort((a, b) => b - a)).toEqual(far);
    expect(radiusOf(1000, 600_000, 3)).toBeGreaterThan(far[0]!);
    expect(radiusOf(1000, 600_000, 1e6)).toBe(6);
    expect(radiusOf(1_000_000, 100, 0.1)).toBe(0.6);
  });

  it("shades less where points are crowded", () => {
    expect(shadeOf(100, 1e6)).toBe(1.2);
    expect(shadeOf(1e6, 1e5)).toBe(0.12);
  });
});

describe("a transition", () => {
  it("goes from the first embedding to the second and leaves both as they are", () => {
    const [from, to] = [[Float32Array.of(0, 0)], [Float32Array.of(2, 4)]];
    const way = new Transition(from, to, 1000);
    expect([...way.axes[0]!]).toEqual([0, 0]);
    expect(way.advance(1450)).toBe(true);
    expect([...way.axes[0]!]).toEqual([1, 2]);
    expect(way.advance(5000)).toBe(false);
    expect([...way.axes[0]!]).toEqual([2, 4]);
    expect([...from[0]!, ...to[0]!]).toEqual([0, 0, 2, 4]);
  });
});

describe("bounds", () => {
  const axes = [Float32Array.of(1, 2), Float32Array.of(3, 5)];

  it("come with the embedding, for the axes that are shown", () => {
    expect(boundsFrom([[0, 9], [1, 8], [2, 7]], [2, 0], axes)).toEqual({ low: [2, 0, 0], high: [7, 9, 0] });
  });

  it("hold all points from every side in three dimensions", () => {
    const solid = [Float32Array.of(-1, 1, 1, 0), Float32Array.of(-1, 1, 0, 0), Float32Array.of(-1, 1, 0, NaN)];
    const bounds = boundsFrom([[-1, 1], [-1, 1], [-1, 1]], [0, 1], solid);
    expect(bounds.radius).toBeCloseTo(Math.sqrt(3));
    for (const yaw of [0, 0.6, 1.2, 2]) {
      const p = project({ ...fit(bounds, 100, 100, 3), yaw, pitch: 0.8 }, bounds, 100, 100, 3);
      for (let i = 0; i < 3; i++) {
        const [x, y, z] = solid.map((axis) => axis[i]!) as [number, number, number];
        expect(Math.hypot(p.xx * x + p.xz * z + p.x0 - 50, p.yx * x + p.yy * y + p.yz * z + p.y0 - 50)).toBeLessThanOrEqual(45.01);
      }
    }
  });

  it("are those of the points where no extent is known", () => {
    expect(boundsFrom([], [0, 1], axes)).toEqual(boundsOf(axes));
  });
});

describe("keys", () => {
  it("move and zoom, and leave others to the page", () => {
    const done: unknown[] = [];
    const camera = { x: 0, y: 0, scale: 1, yaw: 0, pitch: 0 };
    const view = {
      ratio: 1, store: {}, currentCamera: () => camera,
      move: (to: { x: number }) => done.push(to.x), zoom: (by: number) => done.push(by),
      showAll: () => done.push("all"), chooseMiddle: () => done.push("middle"),
    } as unknown as PanelView;
    const panned = panBy(camera, 40, 0).x;
    expect(["ArrowLeft", "+", "0", "Enter", "x"].map((key) => pressKey(view, key))).toEqual([true, true, true, true, false]);
    expect(done).toEqual([panned, 1.3, "all", "middle"]);
  });
});
