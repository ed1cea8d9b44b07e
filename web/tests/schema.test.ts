import { describe, expect, it } from "vitest";
import { Client } from "../src/data/client";
import { count, dictionary, either, extended, flag, list, nullable, number, object, oneOf, pair, text, variant } from "../src/data/schema";
import * as shapes from "../src/data/types";
import type { Transport } from "../src/data/transport";
import { makeView, MockTransport } from "./mock";

const answering = (body: string): Transport => ({
  request: () => Promise.resolve({ status: 200, type: "application/json", body: new TextEncoder().encode(body) }),
});

describe("a check", () => {
  const shape = extended(
    { name: text, sizes: list(count), at: pair(number, nullable(number)), of: dictionary(flag), kind: oneOf("a", "b"), value: either(text, number) },
    { note: object({ text }) },
  );
  const good = { name: "x", sizes: [0, 3], at: [1.5, null], of: { one: true }, kind: "b", value: 3, more: [1] };

  it("gives back what it was given", () => {
    expect(shape(good, "answer")).toBe(good);
    expect(shape({ ...good, note: { text: "y" } }, "answer").note?.text).toBe("y");
  });

  it.each([
    [null, "answer is not an object"],
    [[good], "answer is not an object"],
    [{ ...good, name: 3 }, "answer.name is not a text"],
    [{ ...good, sizes: { length: 1 } }, "answer.sizes is not a list"],
    [{ ...good, sizes: [0, 1.5] }, "answer.sizes[1] is not a whole number from 0 on"],
    [{ ...good, sizes: [-1] }, "answer.sizes[0] is not a whole number from 0 on"],
    [{ ...good, at: [1] }, "answer.at is not a pair"],
    [{ ...good, at: [1, "2"] }, "answer.at[1] is not a number"],
    [{ ...good, at: [JSON.parse("1e999"), 2] }, "answer.at[0] is not a number"],
    [{ ...good, of: { one: 1 } }, "answer.of.one is not true or false"],
    [{ ...good, kind: "c" }, "answer.kind is not one of a, b"],
    [{ ...good, value: null }, "answer.value is not a number"],
    [{ ...good, note: {} }, "answer.note.text is not a text"],
  ])("names what is wrong: %j", (value, message) => {
    expect(() => shape(value, "answer")).toThrow(message);
  });

  it("of variants goes by their tag, which is no name that every object has", () => {
    const kinds = variant("kind", { a: object({ kind: oneOf("a"), n: count }), b: object({ kind: oneOf("b") }) });
    expect(kinds({ kind: "a", n: 1 }, "x")).toEqual({ kind: "a", n: 1 });
    expect(() => kinds({ kind: "a" }, "x")).toThrow("x.n is not a whole number");
    expect(() => kinds({ kind: "toString" }, "x")).toThrow("x.kind is not one of a, b");
    expect(() => kinds({}, "x")).toThrow("x.kind is not one of a, b");
  });
});

describe("an answer", () => {
  it("of another shape is refused, with what to do about it", async () => {
    const view = { ...makeView(), panels: [{ ...makeView().panels[0], extent: [[0, "6"], [0, 1]] }] };
    const asked = new Client(answering(JSON.stringify(view))).getView();
    await expect(asked).rejects.toMatchObject({
      fault: {
        message: "The answer for /api/view is not what this page expects: answer.panels[0].extent[0][1] is not a number.",
        remedy: expect.stringContaining("start `lowd view` again") as string,
      },
    });
  });

  it("that is not JSON is refused", async () => {
    await expect(new Client(answering("<html>")).getJobs()).rejects.toThrow("The answer for /api/jobs is not what this page expects: it is not JSON.");
  });

  it("of another version is refused", () => {
    expect(() => shapes.view({ ...makeView(), version: 2 }, "answer")).toThrow("answer.version is not one of 1");
  });

  it("of columns has as many rows as were asked for", async () => {
    const transport = new MockTransport();
    const client = new Client(transport);
    const { columns, panels } = await client.getView();
    transport.view = { ...makeView(), n: 9 };
    await client.getView();
    await expect(client.getColumn(columns[0]!)).rejects.toThrow("column value does not hold 3 numbers");
    transport.answers["GET /api/panels/p0/points"] = () => ({});
    await expect(client.getPoints(panels[0]!)).rejects.toThrow("it is not a table of Arrow");
  });

  it("with gaps in its curves is taken", () => {
    const quality = {
      state: "ready", verdict: "", notes: [], n_neighbors: 5, exact: false, evaluated: 7,
      measures: [{ name: "stress", title: "Stress", value: 0.1, interval: [null, 0.2], better: "lower", question: "", group: "" }],
      rnx: { k: [1, 2], value: [0.5, null] }, shepard: null, scree: null,
    };
    expect(shapes.quality(quality, "answer")).toBe(quality);
  });
});
