// Typed requests on any transport; arrays come as Arrow in chunks of rows.
import { tableFromIPC } from "@uwdata/flechette";
import { FaultError, type Reply, type Transport } from "./transport";
import type {
  Column, Comparison, Evidence, Fault, Feature, Job, Method, Neighbors, NewPoints, PanelInfo,
  Placement, Quality, RowValue, View,
} from "./types";

const PARALLEL_CHUNKS = 4; // as many as the server answers at once

/** Values of a column: codes of categories, numbers, or texts. */
export type Values = Int16Array | Float32Array | string[];

export class Client {
  private view: View | null = null;
  private table: { rows: Int32Array[]; distances: Float32Array[] } | null = null;
  private sheet: Promise<string> | null = null;

  constructor(private readonly transport: Transport) {}

  async getView(): Promise<View> {
    this.view = await this.json<View>("GET", "/api/view");
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
      names.forEach((name, j) => axes[j]!.set(columns.get(name) as Float32Array, start));
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
        (columns.get("value") as string[]).forEach((text, i) => (texts[start + i] = text));
      });
      return texts;
    }
    const values = column.kind === "category" ? new Int16Array(n) : new Float32Array(n);
    await this.chunks(path, (columns, start) => {
      values.set(columns.get("value") as Int16Array | Float32Array, start);
    });
    return values;
  }

  getQuality(panel: string): Promise<Quality> {
    return this.json("GET", `/api/panels/${panel}/quality`);
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
        found[name].set(columns.get(name) as Float32Array, start);
      (columns.get("evaluated") as boolean[]).forEach((value, i) => (found.evaluated[start + i] = +value));
    });
    return found;
  }

  /** True nearest neighbors of a row in the data, and its nearest rows in each panel. */
  async getNeighbors(row: number, k: number): Promise<Neighbors> {
    if (this.view?.can.neighbors !== "table")
      return this.json("GET", `/api/neighbors?row=${row}&k=${k}`);
    this.table ??= await this.readNeighborTable();
    return {
      row,
      metric: "",
      rows: this.table.rows.slice(0, k).map((ranks) => ranks[row]!),
      distances: this.table.distances.slice(0, k).map((ranks) => ranks[row]!),
      panels: {}, // the page finds them among the coordinates it has
    };
  }

  private async readNeighborTable(): Promise<{ rows: Int32Array[]; distances: Float32Array[] }> {
    const reply = await this.send("GET", "/api/neighbors");
    const table = readArrow(reply.body);
    const take = <T>(letter: string): T[] => {
      const found: T[] = [];
      for (let j = 0; table.has(`${letter}${j}`); j++) found.push(table.get(`${letter}${j}`) as T);
      return found;
    };
    return { rows: take<Int32Array>("n"), distances: take<Float32Array>("d") };
  }

  async getRow(row: number): Promise<RowValue[]> {
    const found = await this.json<{ values: RowValue[] }>("GET", `/api/rows/${row}`);
    return found.values;
  }

  /** The address of a row's thumbnail: an image, and where in it for a sheet of all. */
  async getThumbnail(row: number): Promise<{ url: string; at: [number, number] | null }> {
    const across = this.view?.thumbnails?.across;
    if (across === undefined)
      return { url: toUrl(await this.send("GET", `/api/thumbnails/${row}`)), at: null };
    this.sheet ??= this.send("GET", "/api/thumbnails").then(toUrl);
    return { url: await this.sheet, at: [row % across, Math.floor(row / across)] };
  }

  search(text: string): Promise<{ total: number; rows: number[] }> {
    return this.json("GET", `/api/search?q=${encodeURIComponent(text)}&limit=100000`);
  }

  compare(rows: number[]): Promise<Comparison> {
    return this.json("POST", "/api/compare", { rows });
  }

  /** Tell the Python side what is selected. */
  async sendSelection(rows: number[]): Promise<void> {
    await this.send("POST", "/api/selection", JSON.stringify({ rows }));
  }

  async getFeatures(row: number): Promise<Feature[]> {
    return (await this.json<{ features: Feature[] }>("GET", `/api/features?row=${row}`)).features;
  }

  move(row: number, changes: Record<string, number>): Promise<Placement> {
    return this.json("POST", "/api/move", { row, changes });
  }

  async addPoints(name: string, content: Uint8Array<ArrayBuffer> | string): Promise<NewPoints> {
    const reply = await this.send("POST", `/api/new-points?name=${encodeURIComponent(name)}`, content);
    return decode<NewPoints>(reply);
  }

  getPointsFile(key: string, format: string): Promise<Reply> {
    return this.send("GET", `/api/new-points/${key}/file?format=${format}`);
  }

  async deletePoints(key: string): Promise<void> {
    await this.send("DELETE", `/api/new-points/${key}`);
  }

  async getMethods(): Promise<Method[]> {
    return (await this.json<{ methods: Method[] }>("GET", "/api/methods")).methods;
  }

  startJob(job: { method: string; parameters: Record<string, unknown>; rows?: number[]; name?: string }): Promise<Job> {
    return this.json("POST", "/api/jobs", job);
  }

  getJob(id: string): Promise<Job> {
    return this.json("GET", `/api/jobs/${id}`);
  }

  async getJobs(): Promise<Job[]> {
    return (await this.json<{ jobs: Job[] }>("GET", "/api/jobs")).jobs;
  }

  cancelJob(id: string): Promise<Job> {
    return this.json("DELETE", `/api/jobs/${id}`);
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

  private async json<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
    return decode<T>(
      await this.send(method, path, body === undefined ? undefined : JSON.stringify(body)),
    );
  }

  private async send(
    method: "GET" | "POST" | "DELETE", path: string, body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<Reply> {
    const reply = await this.transport.request(method, path, body);
    if (reply.status >= 400) throw new FaultError(readFault(reply));
    return reply;
  }

  private async chunks(path: string, take: (columns: Map<string, unknown>, start: number) => void): Promise<void> {
    const n = this.rows();
    const size = this.view?.mode === "static" ? n : this.view!.limits.chunk_rows;
    const starts: number[] = [];
    for (let start = 0; start < n; start += size) starts.push(start);
    const work = async (): Promise<void> => {
      for (let start = starts.shift(); start !== undefined; start = starts.shift()) {
        const stop = Math.min(n, start + size);
        const reply = await this.send("GET", `${path}?start=${start}&stop=${stop}`);
        take(readArrow(reply.body), start);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_CHUNKS }, work));
  }
}

/** Columns of an Arrow stream as typed arrays (texts and booleans as plain arrays). */
export function readArrow(bytes: Uint8Array): Map<string, unknown> {
  const table = tableFromIPC(bytes, {});
  return new Map(table.names.map((name) => [name, table.getChild(name).toArray()]));
}

/** JSON of the server, which keeps to the declared types. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
function decode<T>(reply: Reply): T {
  return JSON.parse(new TextDecoder().decode(reply.body)) as T;
}

function readFault(reply: Reply): Fault {
  try {
    const fault = decode<Partial<Fault>>(reply);
    if (typeof fault.message === "string")
      return { code: fault.code ?? "failed", message: fault.message, remedy: fault.remedy ?? "" };
  } catch {
    // not JSON: the status is all there is
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
