// The same times of embedding-atlas, but for a lasso. It is painted when it has drawn many points.
// Usage: node measure_atlas.mjs URL
import { countFrames, open, readMemory, report, timePaint } from "../chromium.mjs";

const { browser, page, errors } = await open(["--enable-unsafe-swiftshader"]);
await page.evaluateOnNewDocument(() => {
  globalThis.bench = { pictures: 0 };
  for (const name of ["drawArrays", "drawArraysInstanced", "drawElements", "drawElementsInstanced"]) {
    const draw = WebGL2RenderingContext.prototype[name];
    WebGL2RenderingContext.prototype[name] = function (...given) {
      draw.apply(this, given);
      if (Math.max(...given.filter((value) => typeof value === "number")) < 50_000) return;
      bench.pictures++;
      bench.gl = this;
    };
  }
});
await page.goto(process.argv[2], { waitUntil: "domcontentloaded" });
await page.waitForFunction(() => bench.gl, { polling: 100, timeout: 90_000 });
await page.evaluate(() => bench.gl.finish());
const firstPaint = await timePaint(page);
await new Promise((done) => setTimeout(done, 4000)); // its lists and histograms
await page.evaluate(() => {
  const { canvas } = bench.gl;
  const box = canvas.isConnected ? canvas.getBoundingClientRect() : { x: 200, y: 100, width: 600, height: 500 };
  bench.element = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
});
const zoom = await countFrames(page, "zoom");
const pan = await countFrames(page, "pan");
await report(browser, { firstPaint, zoom, pan, lasso: null, memory: await readMemory(browser), errors });
