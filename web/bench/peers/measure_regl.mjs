// The same times of a bare page of regl-scatterplot.
// Usage: node measure_regl.mjs URL
import { countFrames, lasso, open, readMemory, report, timePaint } from "../chromium.mjs";

const { browser, page, errors } = await open(["--enable-unsafe-swiftshader"]);
await page.goto(process.argv[2]);
await page.waitForFunction(() => globalThis.bench?.isDrawn, { polling: "raf", timeout: 60_000 });
await page.evaluate(() => bench.plot.get("regl")._gl.finish());
const firstPaint = await timePaint(page);
const zoom = await countFrames(page, "zoom");
const pan = await countFrames(page, "pan");
await page.evaluate(() => bench.plot.reset());
await new Promise((done) => setTimeout(done, 1500));

// From the release of the button until the selected points are known; they are drawn later.
await lasso(page, { x: 0, y: 0, width: 1280, height: 800 }, () =>
  page.evaluate(() => {
    bench.lasso = new Promise((done) => {
      addEventListener("mouseup", () => {
        const from = performance.now();
        bench.plot.subscribe("select", ({ points }) => { done([performance.now() - from, points.length]); }, 1);
      }, { capture: true, once: true });
    });
  }),
);
const [selection, selected] = await page.evaluate(() => bench.lasso);
await report(browser, { firstPaint, zoom, pan, lasso: selection, selected, memory: await readMemory(browser), errors });
