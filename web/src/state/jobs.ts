// Fits in other processes: started, followed while they iterate, cancelled.
import { faultOf, FaultError } from "../data/transport";
import type { Job, PanelInfo } from "../data/types";
import { addSlot, changeSlot, removeSlot } from "./layout";
import { POLL_MILLISECONDS, sleep } from "./polling";
import type { Store } from "./store";

export async function startJob(store: Store, job: { method: string; parameters: Record<string, unknown>; rows?: number[] }): Promise<void> {
  await store.attempt(async () => {
    const started = await store.client.startJob(job);
    store.jobs.value = [...store.jobs.value.filter((other) => other.id !== started.id), started];
    void pollJobs(store);
  });
}

export async function cancelJob(store: Store, id: string): Promise<void> {
  await store.attempt(async () => {
    const job = await store.client.cancelJob(id);
    store.jobs.value = store.jobs.value.map((other) => (other.id === id ? job : other));
  });
}

/** Follow running jobs until none is left; their live embeddings appear as panels. */
export async function pollJobs(store: Store): Promise<void> {
  if (store.polling) return;
  store.polling = true;
  const frames = new Map<string, number>();
  try {
    for (;;) {
      const jobs = await store.client.getJobs();
      const before = new Map(store.jobs.value.map((job) => [job.id, job.state]));
      store.jobs.value = jobs;
      for (const job of jobs) {
        if (job.state === "running" && job.frame > (frames.get(job.id) ?? 0)) {
          frames.set(job.id, job.frame);
          await showLive(store, job);
        }
        if (before.has(job.id) && before.get(job.id) !== job.state) await finish(store, job);
      }
      if (!jobs.some((job) => job.state === "queued" || job.state === "running")) break;
      await sleep(POLL_MILLISECONDS);
    }
  } catch (error) {
    const fault = faultOf(error);
    store.tell(fault.message, fault.remedy, true);
  } finally {
    store.polling = false;
  }
}

async function showLive(store: Store, job: Job): Promise<void> {
  const key = `live:${job.id}`;
  try {
    const axes = await store.client.getLivePoints(job.id, 2);
    store.points.set(key, axes);
    if (!store.livePanels.value.some((panel) => panel.key === key)) {
      store.livePanels.value = [...store.livePanels.value, liveInfo(key, job)];
      await addSlot(store, key);
    }
    store.bumpPoints();
  } catch (error) {
    if (!(error instanceof FaultError && error.fault.code === "not_ready")) throw error;
  }
}

/** Replace the live panel of a job by its result, or take it away. */
async function finish(store: Store, job: Job): Promise<void> {
  if (job.state === "queued" || job.state === "running") return;
  const live = `live:${job.id}`;
  const slot = store.slots.value.find((other) => other.panel === live);
  if (job.state === "done" && job.panel !== null) {
    store.view.value = await store.client.getView();
    if (slot) await changeSlot(store, slot.id, { panel: job.panel });
    else await addSlot(store, job.panel);
    store.tell(`${job.name} is done.`);
  } else {
    if (slot) removeSlot(store, slot.id);
    if (job.fault && job.state === "failed") store.tell(job.fault.message, job.fault.remedy, true);
    else store.tell(`${job.name} was cancelled.`);
  }
  store.livePanels.value = store.livePanels.value.filter((panel) => panel.key !== live);
  store.points.delete(live);
}

function liveInfo(key: string, job: Job): PanelInfo {
  return {
    key, name: `${job.name} (running)`, method: job.method, parameters: {}, dimensions: 2,
    axes: [`${job.method} 1`, `${job.method} 2`], extent: [], rows: null, has_model: false, notes: [],
  };
}
