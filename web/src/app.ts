// One program for all places: the page of `lowd view`, a static file, the embedding of a report, and a
// notebook. A page runs it as a script; a notebook imports it as a module and calls `renderWidget`.
import "./style.css";
import { Client } from "./data/client";
import { ReportClient, type ReportData, reportData } from "./data/report";
import { text } from "./data/schema";
import { EmbeddedTransport, HttpTransport } from "./data/transport";
import { mount } from "./mount";

export { renderWidget } from "./widget";

/** The JSON of an element, which is not needed twice. */
function takeJson(id: string): unknown {
  const element = document.getElementById(id);
  element?.remove();
  return element ? JSON.parse(element.textContent) : null;
}

function showPage(place: HTMLElement): void {
  const saved = takeJson("lowd-state");
  const transport = EmbeddedTransport.find() ?? new HttpTransport();
  mount(place, new Client(transport), {
    state: location.hash || (typeof saved === "string" ? saved : ""),
    linkable: location.protocol.startsWith("http"),
    embedded: false,
  });
}

/** In a report the page has its own style, so that this one is kept in a shadow tree. */
function showReport(place: HTMLElement, data: ReportData): void {
  const root = place.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text(takeJson("lowd-style"), "lowd-style"));
  root.adoptedStyleSheets = [sheet];
  const inside = root.appendChild(document.createElement("div"));
  inside.className = "embedded";
  const name = place.dataset.name ?? "embedding";
  mount(inside, new ReportClient(data, name), { state: "", linkable: false, embedded: true });
}

function start(): void {
  const place = document.getElementById("lowd")!;
  const points = takeJson("points");
  if (points === null) showPage(place);
  else showReport(place, reportData(points, "points"));
}

// Null in a module: a notebook may have an element of this name too, such as a heading.
if (document.currentScript) start();
