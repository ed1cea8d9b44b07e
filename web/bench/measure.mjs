// Times of one page in headless Chromium with software rendering, as JSON: first paint after the
// navigation, frames per second while zooming and panning, lasso to counts, memory of the page.
// Usage: node measure.mjs URL [WIDTH HEIGHT]
import puppeteer from "puppeteer-core";

const [url, width = "1280", height = "800"] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-device-scale-factor=1"],
});
const page = await browser.newPage();
await page.setViewport({ width: Number(width), height: Number(height) });
const errors = [];
page.on("pageerror", (error) => errors.push(error.message));

// Complete: the coordinates of every panel and the column of colors are there and drawn.
const isComplete = () => {
  const canvases = [...document.querySelectorAll("canvas.points")];
  return canvases.length > 0 && !document.querySelector(".loading") && canvases.every((canvas) => Number(canvas.dataset.drawn) > 0);
};
await page.goto(url, { waitUntil: "domcontentloaded" });
await page.waitForFunction(isComplete, { polling: "raf", timeout: 60_000 });
// One more frame, so that the pixels are on the screen; the clock of the page began with the navigation.
const firstPaint = await page.evaluate(
  () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))),
);

const box = await (await page.$("canvas.overlay")).boundingBox();
const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };

/** Frames with a new picture per second, while every frame brings an event, for two seconds. */
function countFrames(kind) {
  return page.evaluate(
    (action) =>
      new Promise((done) => {
        const canvas = document.querySelector("canvas.points");
        const overlay = document.querySelector("canvas.overlay");
        const box = overlay.getBoundingClientRect();
        const at = (dx, dy) => ({ clientX: box.x + box.width / 2 + dx, clientY: box.y + box.height / 2 + dy });
        const send = (Type, name, more) =>
          overlay.dispatchEvent(new Type(name, { bubbles: true, cancelable: true, pointerId: 1, button: 0, ...more }));
        overlay.setPointerCapture = () => undefined; // of a pointer that does not exist
        const context = canvas.getContext("2d");
        let pictures = 0;
        let before = 0;
        let shown = 0;
        const put = CanvasRenderingContext2D.prototype.putImageData;
        context.putImageData = (...given) => {
          pictures++;
          put.apply(context, given);
        };
        if (action === "pan") send(PointerEvent, "pointerdown", at(0, 0));
        const start = performance.now();
        let i = 0;
        const step = () => {
          if (pictures > before) shown++;
          before = pictures;
          const seconds = (performance.now() - start) / 1000;
          if (seconds > 2) {
            if (action === "pan") send(PointerEvent, "pointerup", at(0, 0));
            done(shown / seconds);
            return;
          }
          i++;
          if (action === "zoom") send(WheelEvent, "wheel", { ...at(0, 0), deltaY: i % 40 < 20 ? -30 : 30 });
          else send(PointerEvent, "pointermove", at(60 * Math.sin(i / 8), 40 * Math.cos(i / 8)));
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    kind,
  );
}

const zoom = await countFrames("zoom");
const pan = await countFrames("pan");
await page.keyboard.press("Escape");
await (await page.$("canvas.overlay")).focus();
await page.keyboard.press("0");
await new Promise((done) => setTimeout(done, 800));

// Lasso: from the release of the button until the count and the faded picture are on the screen.
await page.keyboard.down("Shift");
await page.mouse.move(middle.x - 150, middle.y - 120);
await page.mouse.down();
for (const [dx, dy] of [[0, -150], [150, -120], [180, 0], [120, 140], [-20, 160], [-150, 100]])
  await page.mouse.move(middle.x + dx, middle.y + dy, { steps: 8 });
await page.evaluate(() => {
  globalThis.lassoDone = new Promise((done) => {
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
});
await page.mouse.up();
await page.keyboard.up("Shift");
const lassoMilliseconds = await page.evaluate(() => globalThis.lassoDone);
const selected = await page.$eval(".toolbar [data-selected]", (element) => Number(element.dataset.selected));
await new Promise((done) => setTimeout(done, 500));

// Memory: what the page's own process holds, without libraries shared with other processes.
const session = await browser.target().createCDPSession();
const { processInfo } = await session.send("SystemInfo.getProcessInfo");
const { readFileSync } = await import("node:fs");
const privateMegabytes = (id) => {
  const status = readFileSync(`/proc/${id}/status`, "utf8");
  const read = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return (read("RssAnon") + read("RssShmem")) / 1024;
};
const memory = Math.max(...processInfo.filter((info) => info.type === "renderer").map((info) => privateMegabytes(info.id)));
console.log(JSON.stringify({
  firstPaint: Math.round(firstPaint), zoom: +zoom.toFixed(1), pan: +pan.toFixed(1),
  lasso: Math.round(lassoMilliseconds), selected, memory: Math.round(memory), errors,
}));
await browser.close();
