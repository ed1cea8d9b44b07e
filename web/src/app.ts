// The page of `lowd view` and of a static file.
import "./style.css";
import { EmbeddedTransport, HttpTransport } from "./data/transport";
import { mount } from "./mount";

function readState(): string {
  const saved = document.getElementById("lowd-state");
  const embedded: unknown = saved ? JSON.parse(saved.textContent) : "";
  return location.hash || (typeof embedded === "string" ? embedded : "");
}

const embedded = EmbeddedTransport.find();
mount(document.getElementById("lowd")!, embedded ?? new HttpTransport(), {
  state: readState(),
  linkable: location.protocol.startsWith("http"),
});
