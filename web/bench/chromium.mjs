// What the measured pages share: a headless Chromium of 1280x800 pixels, frames, a lasso, memory.
import { readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

const SECONDS = 2; // of zooming, and of panning

/** A fresh browser with a page, whose errors are kept. `flags` choose how it renders in software. */
export async function open(flags) {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-device-scale-factor=1", ...flags],
  });
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  return { browser, page, errors };
}

/** The time since the navigation, two frames later: then the pixels are on the screen. */
export function timePaint(page) {
  return page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))),
  );
}

/**
 * Frames with a new picture per second, while every frame brings an event. The page has a global
 * `bench`: `element` takes the events, `pictures` counts what it has drawn.
 */
export function countFrames(page, kind) {
  return page.evaluate(
    (action, limit) =>
      new Promise((done) => {
        const { element } = bench;
        const box = element.getBoundingClientRect();
        const at = (dx, dy) => ({ clientX: box.x + box.width / 2 + dx, clientY: box.y + box.height / 2 + dy });
        const send = (Type, name, more) =>
          element.dispatchEvent(new Type(name, { bubbles: true, cancelable: true, pointerId: 1, isPrimary: true, button: 0, buttons: 1, view: window, ...more }));
        const drag = (name, more) => {
          send(PointerEvent, `pointer${name}`, more);
          send(MouseEvent, `mouse${name}`, more);
        };
        element.setPointerCapture = () => undefined; // of a pointer that does not exist
        if (action === "pan") drag("down", at(0, 0));
        const start = performance.now();
        let [before, shown, i] = [bench.pictures, 0, 0];
        const step = () => {
          if (bench.pictures > before) shown++;
          before = bench.pictures;
          const seconds = (performance.now() - start) / 1000;
          if (seconds > limit) {
            if (action === "pan") drag("up", at(0, 0));
            done(shown / seconds);
            return;
          }
          i++;
          if (action === "zoom") send(WheelEvent, "wheel", { ...at(0, 0), deltaY: i % 40 < 20 ? -30 : 30 });
          else drag("move", at(60 * Math.sin(i / 8), 40 * Math.cos(i / 8)));
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    kind,
    SECONDS,
  );
}

/** Draw a lasso around the middle of a box; `release` is awaited before the button is released. */
export async function lasso(page, box, release) {
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.keyboard.down("Shift");
  await page.mouse.move(x - 150, y - 120);
  await page.mouse.down();
  for (const [dx, dy] of [[0, -150], [150, -120], [180, 0], [120, 140], [-20, 160], [-150, 100]])
    await page.mouse.move(x + dx, y + dy, { steps: 8 });
  await release();
  await page.mouse.up();
  await page.keyboard.up("Shift");
}

/** Megabytes that the page's own process holds, without libraries shared with other processes. */
export async function readMemory(browser) {
  const session = await browser.target().createCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const held = processInfo.filter((info) => info.type === "renderer").map((info) => {
    const status = readFileSync(`/proc/${info.id}/status`, "utf8");
    const read = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
    return (read("RssAnon") + read("RssShmem")) / 1024;
  });
  return Math.round(Math.max(...held));
}

/** Print what was found and end. */
export async function report(browser, found) {
  console.log(JSON.stringify(found, (_, value) => (typeof value === "number" ? +value.toFixed(1) : value)));
  await browser.close();
}
