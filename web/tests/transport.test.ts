import { describe, expect, it } from "vitest";
import { EmbeddedTransport, FaultError, WidgetTransport, type WidgetModel } from "../src/data/transport";

describe("a static file", () => {
  const transport = new EmbeddedTransport({
    "GET /api/view": { type: "application/json", json: { n: 3 } },
    "GET /api/panels/p0/points": { type: "application/vnd.apache.arrow.stream", base64: btoa("\x00\xff") },
  });

  it("answers what it holds, whatever the query", async () => {
    const view = await transport.request("GET", "/api/view");
    expect(new TextDecoder().decode(view.body)).toBe('{"n":3}');
    const points = await transport.request("GET", "/api/panels/p0/points?start=0&stop=3");
    expect([...points.body]).toEqual([0, 255]);
  });

  it("says what to do about the rest", async () => {
    const refused = transport.request("POST", "/api/jobs");
    await expect(refused).rejects.toBeInstanceOf(FaultError);
    await expect(refused).rejects.toMatchObject({ fault: { code: "offline" } });
  });
});

describe("a notebook", () => {
  it("gets each answer for its own question", async () => {
    const sent: { id: number; path: string; body?: string }[] = [];
    let listener: (message: unknown, buffers: DataView[]) => void = () => undefined;
    const model: WidgetModel = {
      on: (_, given) => { listener = given; },
      off: () => { listener = () => undefined; },
      send: (message) => { sent.push(message as (typeof sent)[0]); },
      get: () => undefined,
      set: () => undefined,
      save_changes: () => undefined,
    };
    const transport = new WidgetTransport(model);
    const first = transport.request("GET", "/api/view");
    const second = transport.request("POST", "/api/compare", '{"rows":[1]}');
    expect(sent.map(({ path, body }) => [path, body])).toEqual([["/api/view", undefined], ["/api/compare", '{"rows":[1]}']]);
    const view = (text: string): DataView => new DataView(new TextEncoder().encode(text).buffer);
    listener({ id: sent[1]!.id, status: 200, type: "b" }, [view("two")]);
    listener({ id: sent[0]!.id, status: 200, type: "a" }, [view("one")]);
    expect(new TextDecoder().decode((await first).body)).toBe("one");
    expect((await second).type).toBe("b");
  });
});
