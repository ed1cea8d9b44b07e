// Times of the explorer's page in headless Chromium with software rendering, as JSON: first paint
// after the navigation, frames per second while zooming and panning, lasso to counts, memory.
// Usage: node measure.mjs URL
import { countFrames, lasso, open, readMemory, report, timePaint } from "./chromium.mjs";

const { browser, page, errors } = await open(["--disable-gpu"]);

// Complete: the coordinates of every panel and the column of colors are there and drawn.
const isComplete = () => {
  const canvases = [...document.querySelectorAll("canvas.points")];
  return canvases.length > 0 && !document.querySelector(".loading") && canvases.every((canvas) => Number(canvas.dataset.drawn) > 0);
};
await page.goto(process.argv[2], { waitUntil: "domcontentloaded" });
await page.waitForFunction(isComplete, { polling: "raf", timeout: 60_000 });
const firstPaint = await timePaint(page);

await page.evaluate(() => {
  globalThis.bench = { element: document.querySelector("canvas.overlay"), pictures: 0 };
  const context = document.querySelector("canvas.points").getContext("2d");
  const put = CanvasRenderingContext2D.prototype.putImageData;
  context.putImageData = (...given) => {
    bench.pictures++;
    put.apply(context, given);
  };
});
const zoom = await countFrames(page, "zoom");
const pan = await countFrames(page, "pan");
await page.keyboard.press("Escape");
await (await page.$("canvas.overlay")).focus();
await page.keyboard.press("0");
await new Promise((done) => setTimeout(done, 800));

// Lasso: from the release of the button until the count and the faded picture are on the screen.
await lasso(page, await (await page.$("canvas.overlay")).boundingBox(), () =>
  page.evaluate(() => {
    bench.lasso = new Promise((done) => {
      addEventListener("pointerup", () => {
        const from = performance.now();
        const look = () => {
          const counted = Number(document.querySelector(".toolbar [data-selected]").dataset.selected) > 0;
          if (counted) requestAnimationFrame(() => done(performance.now() - from));
          else requestAnimationFrame(look);
        };
        look();
      }, { capture: true, once: true });
    });
  }),
);
const selection = await page.evaluate(() => bench.lasso);
const selected = await page.$eval(".toolbar [data-selected]", (element) => Number(element.dataset.selected));
await new Promise((done) => setTimeout(done, 500));
await report(browser, { firstPaint, zoom, pan, lasso: selection, selected, memory: await readMemory(browser), errors });
