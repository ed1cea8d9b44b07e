// The page of `lowd view`, of a static file, and the embedding of a report.
import "./style.css";
import { Client } from "./data/client";
import { ReportClient, type ReportData } from "./data/report";
import { EmbeddedTransport, HttpTransport } from "./data/transport";
import { mount } from "./mount";

const place = document.getElementById("lowd")!;

/** The JSON of an element, which is not needed twice. */
function takeJson(id: string): unknown {
  const element = document.getElementById(id);
  element?.remove();
  return element ? JSON.parse(element.textContent) : null;
}

function showPage(): void {
  const saved = takeJson("lowd-state");
  const transport = EmbeddedTransport.find() ?? new HttpTransport();
  mount(place, new Client(transport), {
    state: location.hash || (typeof saved === "string" ? saved : ""),
    linkable: location.protocol.startsWith("http"),
    embedded: false,
  });
}

/** In a report the page has its own style, so that this one is kept in a shadow tree. */
function showReport(data: ReportData): void {
  const root = place.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(takeJson("lowd-style") as string);
  root.adoptedStyleSheets = [sheet];
  const inside = root.appendChild(document.createElement("div"));
  inside.className = "embedded";
  const name = place.dataset.name ?? "embedding";
  mount(inside, new ReportClient(data, name), { state: "", linkable: false, embedded: true });
}

const points = takeJson("points") as ReportData | null;
if (points) showReport(points);
else showPage();
