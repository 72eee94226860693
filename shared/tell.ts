import type { EventRecord } from "./cluster.ts";
import type { Context } from "./context.ts";
import { keyOf, keyText } from "./object.ts";

/** Records an Event for people. That it cannot be recorded is logged and never fails what it tells about. */
export async function tell({ cluster, log }: Context, event: EventRecord): Promise<void> {
  const object = keyText(keyOf(event.regarding));
  log.info({ object, reason: event.reason, note: event.note }, "told");
  try {
    await cluster.record(event);
  } catch (error) {
    log.warn({ object, reason: event.reason, err: error }, "Event not recorded");
  }
}
