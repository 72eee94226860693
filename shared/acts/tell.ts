import { hash } from "node:crypto";
import type { Cluster, EventRecord } from "../cluster/cluster.ts";
import { keyOf, keyText } from "../objects/object.ts";
import type { Context } from "./context.ts";

/** Well below the hour for which an API server keeps Events by default (kube-apiserver --event-ttl). */
const REMEMBERED_MS = Temporal.Duration.from({ minutes: 30 }).total("milliseconds");
const MOST = 50_000;

/** When each state was told, in milliseconds since the epoch, the oldest first. It only saves requests: the API server knows as well what it was told. */
const memories = new WeakMap<Cluster, Map<string, number>>();

/**
 * Records an Event for people, unless this process recorded the same within half an hour. That it cannot be recorded is
 * logged and never fails what it tells about.
 */
export async function tell({ cluster, log, now }: Context, event: EventRecord): Promise<void> {
  const object = keyText(keyOf(event.regarding));
  const told = memories.get(cluster) ?? new Map<string, number>();
  memories.set(cluster, told);
  const state = digest([event.regarding.metadata.uid ?? object, event.reason, event.state ?? event.note]);
  const last = told.get(state);
  if (last !== undefined && now().epochMilliseconds < last + REMEMBERED_MS) return;
  log.info({ object, reason: event.reason, note: event.note }, "told");
  try {
    await cluster.record(event);
    told.delete(state);
    told.set(state, now().epochMilliseconds);
    const [oldest] = told.keys();
    if (told.size > MOST && oldest !== undefined) told.delete(oldest);
  } catch (error) {
    log.warn({ object, reason: event.reason, err: error }, "Event not recorded");
  }
}

function digest(parts: readonly string[]): string {
  return hash("sha256", JSON.stringify(parts), "base64");
}
