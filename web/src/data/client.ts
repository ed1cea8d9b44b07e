// Typed requests on any transport; arrays come as Arrow in chunks of rows.
import { tableFromIPC } from "@uwdata/flechette";
import { type Check, Mismatch } from "./schema";
import { FaultError, type Reply, type Transport } from "./transport";
import * as shapes from "./types";
import type {
  Column, Comparison, Evidence, Fault, Feature, Found, Job, Method, Neighbors, NewPoints, PanelInfo,
  Placement, Quality, RowValue, View,
} from "./types";

const PARALLEL_CHUNKS = 4; // the server answers this many at once

/** Values of a column: codes of categories, numbers, or texts. */
export type Values = Int16Array | Float32Array | string[];

export class Client {
  private view: View | null = null;
  private table: { rows: Numbers[]; distances: Numbers[] } | null = null;
  private sheet: Promise<string> | null = null;

  constructor(private readonly transport: Transport) {}

  async getView(): Promise<View> {
    this.view = await this.json(shapes.view, "GET", "/api/view");
    return this.view;
  }

  /** Coordinates of a panel, one array per dimension; a chunk is reported as soon as it is there. */
  async getPoints(panel: PanelInfo, report?: () => void, into?: Float32Array[]): Promise<Float32Array[]> {
    return this.coordinates(`/api/panels/${panel.key}/points`, panel.dimensions, report, into);
  }

  getLivePoints(job: string, dimensions: number): Promise<Float32Array[]> {
    return this.coordinates(`/api/jobs/${job}/points`, dimensions);
  }

  private async coordinates(
    path: string, dimensions: number, report?: () => void, into?: Float32Array[],
  ): Promise<Float32Array[]> {
    const n = this.rows();
    const names = ["x", "y", "z"].slice(0, Math.max(2, dimensions));
    const axes = into ?? names.map(() => new Float32Array(n).fill(NaN));
    await this.chunks(path, (columns, start) => {
      names.forEach((name, j) => axes[j]!.set(columns.numbers(name), start));
      report?.();
    });
    return axes;
  }

  async getColumn(column: Column): Promise<Values> {
    const n = this.rows();
    const path = `/api/columns/${column.key}`;
    if (column.kind === "text") {
      const texts = new Array<string>(n).fill("");
      await this.chunks(path, (columns, start) => {
        columns.items("value").forEach((text, i) => (texts[start + i] = typeof text === "string" ? text : ""));
      });
      return texts;
    }
    const values = column.kind === "category" ? new Int16Array(n) : new Float32Array(n);
    await this.chunks(path, (columns, start) => {
      values.set(columns.numbers("value"), start);
    });
    return values;
  }

  getQuality(panel: string): Promise<Quality> {
    return this.json(shapes.quality, "GET", `/api/panels/${panel}/quality`);
  }

  async getEvidence(panel: string): Promise<Evidence> {
    const n = this.rows();
    const found: Evidence = {
      false_neighbors: new Float32Array(n),
      missed_neighbors: new Float32Array(n),
      stretch: new Float32Array(n),
      evaluated: new Uint8Array(n),
    };
    await this.chunks(`/api/panels/${panel}/evidence`, (columns, start) => {
      for (const name of ["false_neighbors", "missed_neighbors", "stretch"] as const)
        found[name].set(columns.numbers(name), start);
      columns.items("evaluated").forEach((value, i) => (found.evaluated[start + i] = Number(value)));
    });
    return found;
  }

  /** True nearest neighbors of a row in the data, and its nearest rows in each panel. */
  async getNeighbors(row: number, k: number): Promise<Neighbors> {
    if (this.view?.can.neighbors !== "table")
      return this.json(shapes.neighbors, "GET", `/api/neighbors?row=${row}&k=${k}`);
    this.table ??= await this.readNeighborTable();
    return {
      row,
      metric: "",
      rows: this.table.rows.slice(0, k).map((ranks) => ranks[row]!),
      distances: this.table.distances.slice(0, k).map((ranks) => ranks[row]!),
      panels: {}, // the page finds them among the coordinates it has
    };
  }

  private async readNeighborTable(): Promise<{ rows: Numbers[]; distances: Numbers[] }> {
    const reply = await this.send("GET", "/api/neighbors");
    const table = new Columns("/api/neighbors", reply.body, this.rows());
    const take = (letter: string): Numbers[] => {
      const found: Numbers[] = [];
      for (let j = 0; table.has(`${letter}${j}`); j++) found.push(table.numbers(`${letter}${j}`));
      return found;
    };
    return { rows: take("n"), distances: take("d") };
  }

  async getRow(row: number): Promise<RowValue[]> {
    return (await this.json(shapes.rowValues, "GET", `/api/rows/${row}`)).values;
  }

  /** The address of a row's thumbnail: an image, and where in it for a sheet of all. */
  async getThumbnail(row: number): Promise<{ url: string; at: [number, number] | null }> {
    const across = this.view?.thumbnails?.across;
    if (across === undefined)
      return { url: toUrl(await this.send("GET", `/api/thumbnails/${row}`)), at: null };
    this.sheet ??= this.send("GET", "/api/thumbnails").then(toUrl);
    try {
      return { url: await this.sheet, at: [row % across, Math.floor(row / across)] };
    } catch (error) {
      this.sheet = null; // the next row asks again
      throw error;
    }
  }

  search(text: string): Promise<Found> {
    return this.json(shapes.found, "GET", `/api/search?q=${encodeURIComponent(text)}&limit=100000`);
  }

  compare(rows: number[]): Promise<Comparison> {
    return this.json(shapes.comparison, "POST", "/api/compare", { rows });
  }

  /** Tell the Python side what is selected. */
  async sendSelection(rows: number[]): Promise<void> {
    await this.send("POST", "/api/selection", JSON.stringify({ rows }));
  }

  async getFeatures(row: number): Promise<Feature[]> {
    return (await this.json(shapes.features, "GET", `/api/features?row=${row}`)).features;
  }

  move(row: number, changes: Record<string, number>): Promise<Placement> {
    return this.json(shapes.placement, "POST", "/api/move", { row, changes });
  }

  async addPoints(name: string, content: Uint8Array<ArrayBuffer> | string): Promise<NewPoints> {
    const path = `/api/new-points?name=${encodeURIComponent(name)}`;
    return read(shapes.newPoints, path, await this.send("POST", path, content));
  }

  getPointsFile(key: string, format: string): Promise<Reply> {
    return this.send("GET", `/api/new-points/${key}/file?format=${format}`);
  }

  async deletePoints(key: string): Promise<void> {
    await this.send("DELETE", `/api/new-points/${key}`);
  }

  async getMethods(): Promise<Method[]> {
    return (await this.json(shapes.methods, "GET", "/api/methods")).methods;
  }

  startJob(job: { method: string; parameters: Record<string, unknown>; rows?: number[]; name?: string }): Promise<Job> {
    return this.json(shapes.job, "POST", "/api/jobs", job);
  }

  getJob(id: string): Promise<Job> {
    return this.json(shapes.job, "GET", `/api/jobs/${id}`);
  }

  async getJobs(): Promise<Job[]> {
    return (await this.json(shapes.jobs, "GET", "/api/jobs")).jobs;
  }

  cancelJob(id: string): Promise<Job> {
    return this.json(shapes.job, "DELETE", `/api/jobs/${id}`);
  }

  async deletePanel(key: string): Promise<void> {
    await this.send("DELETE", `/api/panels/${key}`);
  }

  export(rows: number[] | null, format: string): Promise<Reply> {
    return this.send("POST", "/api/export", JSON.stringify({ rows, format }));
  }

  exportHtml(state: string): Promise<Reply> {
    return this.send("POST", "/api/export/html", JSON.stringify({ state }));
  }

  private rows(): number {
    if (!this.view) throw new Error("the view is asked for first");
    return this.view.n;
  }

  private async json<T>(shape: Check<T>, method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
    return read(shape, path, await this.send(method, path, body === undefined ? undefined : JSON.stringify(body)));
  }

  private async send(
    method: "GET" | "POST" | "DELETE", path: string, body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<Reply> {
    const reply = await this.transport.request(method, path, body);
    if (reply.status >= 400) throw new FaultError(readFault(reply));
    return reply;
  }

  private async chunks(path: string, take: (columns: Columns, start: number) => void): Promise<void> {
    const n = this.rows();
    const size = this.view?.mode === "static" ? n : this.view!.limits.chunk_rows;
    const starts: number[] = [];
    for (let start = 0; start < n; start += size) starts.push(start);
    const work = async (): Promise<void> => {
      for (let start = starts.shift(); start !== undefined; start = starts.shift()) {
        const stop = Math.min(n, start + size);
        try {
          const reply = await this.send("GET", `${path}?start=${start}&stop=${stop}`);
          take(new Columns(path, reply.body, stop - start), start);
        } catch (error) {
          starts.length = 0; // nobody asks for the rest
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_CHUNKS }, work));
  }
}

type Numbers = Float32Array | Int16Array | Int32Array;

/** The columns of an Arrow stream, each with as many rows as were asked for. */
class Columns {
  private readonly columns: Map<string, unknown>;

  constructor(private readonly path: string, bytes: Uint8Array, private readonly rows: number) {
    try {
      const table = tableFromIPC(bytes, {});
      this.columns = new Map(table.names.map((name) => [name, table.getChild(name).toArray()]));
    } catch {
      throw misfit(path, "it is not a table of Arrow");
    }
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }

  numbers(name: string): Numbers {
    const values = this.columns.get(name);
    const known = values instanceof Float32Array || values instanceof Int16Array || values instanceof Int32Array;
    if (!known || values.length !== this.rows) throw misfit(this.path, `column ${name} does not hold ${this.rows} numbers`);
    return values;
  }

  /** Texts or booleans. */
  items(name: string): unknown[] {
    const values = this.columns.get(name);
    if (!Array.isArray(values) || values.length !== this.rows)
      throw misfit(this.path, `column ${name} does not hold ${this.rows} values`);
    return values as unknown[];
  }
}

/** The JSON of an answer, which has the declared shape or is refused. */
function read<T>(shape: Check<T>, path: string, reply: Reply): T {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder().decode(reply.body));
  } catch {
    throw misfit(path, "it is not JSON");
  }
  try {
    return shape(found, "answer");
  } catch (error) {
    throw error instanceof Mismatch ? misfit(path, error.message) : error;
  }
}

function misfit(path: string, why: string): FaultError {
  return new FaultError({
    code: "failed",
    message: `The answer for ${path.replace(/\?.*$/, "")} is not what this page expects: ${why}.`,
    remedy: "Page and server may be of different versions: start `lowd view` again and reload the page.",
  });
}

function readFault(reply: Reply): Fault {
  try {
    return read(shapes.fault, "", reply);
  } catch {
    // The status is all there is.
  }
  return {
    code: reply.status === 401 ? "unauthorized" : "failed",
    message: `The server answered with status ${reply.status}.`,
    remedy: reply.status === 401 ? "Take the link that the terminal shows." : "Try again.",
  };
}

function toUrl(reply: Reply): string {
  return URL.createObjectURL(new Blob([reply.body.slice()], { type: reply.type }));
}
