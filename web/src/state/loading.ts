// Coordinates, columns, quality and evidence: each is asked for once, when something shows it.
import { faultOf } from "../data/transport";
import type { Fault, PanelInfo, Quality } from "../data/types";
import { POLL_MILLISECONDS, sleep } from "./polling";
import type { Store } from "./store";

/**
 * Load the coordinates of a panel once. A failure is kept for the panel to show, and the next call
 * asks again.
 */
export function loadPoints(store: Store, key: string): Promise<void> {
  const panel = store.panel(key);
  if (!panel) return Promise.resolve();
  const running = store.pointRequests.get(key);
  if (running) return running;
  if (store.points.has(key)) return Promise.resolve();
  const request = fetchPoints(store, panel).finally(() => {
    store.pointRequests.delete(key);
    store.bumpPoints();
  });
  store.pointRequests.set(key, request);
  return request;
}

/** What has arrived is on the screen at once, chunk by chunk. */
async function fetchPoints(store: Store, panel: PanelInfo): Promise<void> {
  const { key } = panel;
  const n = store.view.value!.n;
  const axes = Array.from({ length: Math.max(2, panel.dimensions) }, () => new Float32Array(n).fill(NaN));
  store.points.set(key, axes);
  setFault(store, key, null);
  try {
    await store.client.getPoints(panel, () => store.bumpPoints(), axes);
  } catch (error) {
    store.points.delete(key); // an embedding with gaps would pass for a whole one
    const fault = faultOf(error);
    if (fault.code === "unauthorized") store.fault.value = fault;
    setFault(store, key, fault);
    return;
  }
  if (panel.dimensions === 1) spreadHeights(axes[1]!, panel.extent[0]);
}

function setFault(store: Store, key: string, fault: Fault | null): void {
  if (!fault && !store.pointFaults.peek().has(key)) return;
  const faults = new Map(store.pointFaults.peek());
  if (fault) faults.set(key, fault);
  else faults.delete(key);
  store.pointFaults.value = faults;
}

/**
 * Load the values of a column once; nothing happens for an unknown key. After a failure the next call
 * asks again.
 */
export function loadColumn(store: Store, key: string): Promise<void> {
  const column = store.column(key);
  if (!column) return Promise.resolve();
  const known = store.columnRequests.get(key);
  if (known) return known;
  const request = store.client.getColumn(column).then(
    (values) => {
      store.values.set(key, values);
      store.columnsVersion.value++;
    },
    (error: unknown) => {
      store.columnRequests.delete(key);
      throw error;
    },
  );
  store.columnRequests.set(key, request);
  return request;
}

export async function loadQuality(store: Store, key: string): Promise<void> {
  if (!store.view.value?.can.quality || store.quality.value[key]?.state === "ready") return;
  if (store.quality.value[key]?.state === "computing") return;
  for (;;) {
    let found: Quality;
    try {
      found = await store.client.getQuality(key);
    } catch (error) {
      found = { state: "failed", fault: faultOf(error) };
    }
    store.quality.value = { ...store.quality.value, [key]: found };
    if (found.state !== "computing") break;
    await sleep(POLL_MILLISECONDS);
  }
}

export async function loadEvidence(store: Store, key: string): Promise<void> {
  if (store.evidence.has(key)) return;
  await loadQuality(store, key);
  if (store.quality.value[key]?.state !== "ready") return;
  await store.attempt(async () => {
    store.evidence.set(key, await store.client.getEvidence(key));
    store.evidenceVersion.value++;
  });
}

/** One dimension has no height: points are spread over it by the golden ratio. */
function spreadHeights(heights: Float32Array, extent: [number, number] | undefined): void {
  const span = extent ? extent[1] - extent[0] : 1;
  for (let i = 0; i < heights.length; i++) heights[i] = span * 0.3 * ((i * 0.618034) % 1);
}
