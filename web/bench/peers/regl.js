// A bare page: x, y and class of all points in one file of 32-bit numbers, drawn by regl-scatterplot.
import createScatterplot from "regl-scatterplot";

const all = new Float32Array(await (await fetch("points.f32")).arrayBuffer());
const n = all.length / 3;
const plot = createScatterplot({
  canvas: document.querySelector("canvas"),
  width: innerWidth,
  height: innerHeight,
  pointSize: 1,
  opacity: 0.5,
  colorBy: "valueZ",
  pointColor: ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#004488", "#ddaa33", "#bb5566"],
});
globalThis.bench = { element: document.querySelector("canvas"), pictures: 0, plot };
plot.subscribe("draw", () => { bench.pictures++; });
await plot.draw({ x: all.subarray(0, n), y: all.subarray(n, 2 * n), z: all.subarray(2 * n) });
bench.isDrawn = true;
