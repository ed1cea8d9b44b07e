// How the page reaches its data: three transports of the same requests.
import { entries, type Entry, type Fault } from "./types";

export interface Reply {
  status: number;
  type: string;
  body: Uint8Array;
}

export interface Transport {
  request(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<Reply>;
}

/** A refusal of the data source, with a remedy for the user. */
export class FaultError extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
    this.name = "FaultError";
  }
}

/** What to tell the user of anything that was thrown. */
export function faultOf(error: unknown): Fault {
  if (error instanceof FaultError) return error.fault;
  const message = error instanceof Error ? error.message : String(error);
  return { code: "failed", message, remedy: "Reload the page; if it happens again, report it." };
}

/** Requests to the server of `lowd view`; the cookie authenticates. */
export class HttpTransport implements Transport {
  async request(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<Reply> {
    let response: Response;
    try {
      response = await fetch(path, {
        method,
        credentials: "same-origin",
        ...(body === undefined ? {} : { body }),
      });
    } catch {
      throw new FaultError({
        code: "unavailable",
        message: "The server of this page does not answer.",
        remedy: "Start `lowd view` again and take the link that it shows.",
      });
    }
    return {
      status: response.status,
      type: response.headers.get("content-type") ?? "",
      body: new Uint8Array(await response.arrayBuffer()),
    };
  }
}

/** Answers that a static file holds, keyed by method and path without query. */
export class EmbeddedTransport implements Transport {
  constructor(private readonly entries: Record<string, Entry>) {}

  static find(): EmbeddedTransport | null {
    const element = document.getElementById("lowd-data");
    if (!element) return null;
    const held = entries(JSON.parse(element.textContent), "lowd-data");
    element.remove(); // the text is not needed twice
    return new EmbeddedTransport(held);
  }

  request(method: "GET" | "POST" | "DELETE", path: string): Promise<Reply> {
    const entry = this.entries[`${method} ${path.replace(/\?.*$/, "")}`];
    if (!entry)
      return Promise.reject(
        new FaultError({
          code: "offline",
          message: "This file holds no data for that.",
          remedy: "Open the data with `lowd view` to compute it.",
        }),
      );
    const body =
      entry.base64 === undefined
        ? new TextEncoder().encode(JSON.stringify(entry.json))
        : Uint8Array.from(atob(entry.base64), (c) => c.charCodeAt(0));
    return Promise.resolve({ status: 200, type: entry.type, body });
  }
}

/** The part of anywidget's model that is used here. */
export interface WidgetModel {
  on(event: "msg:custom", listener: (message: unknown, buffers: DataView[]) => void): void;
  off(event: "msg:custom", listener: (message: unknown, buffers: DataView[]) => void): void;
  send(message: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
}

/** Requests as messages to the kernel of a notebook. */
export class WidgetTransport implements Transport {
  private next = 1;
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private readonly listener = (message: unknown, buffers: DataView[]): void => {
    const { id, status, type } = message as { id: number; status: number; type: string };
    const buffer = buffers[0];
    const body = buffer
      ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
      : new Uint8Array(0);
    this.waiting.get(id)?.({ status, type, body });
    this.waiting.delete(id);
  };

  constructor(private readonly model: WidgetModel) {
    model.on("msg:custom", this.listener);
  }

  close(): void {
    this.model.off("msg:custom", this.listener);
  }

  request(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<Reply> {
    const id = this.next++;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      const text = typeof body === "string" ? { body } : {};
      const buffers = body instanceof Uint8Array ? [body.slice().buffer] : [];
      this.model.send({ id, method, path, ...text }, undefined, buffers);
    });
  }
}
