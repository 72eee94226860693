import { CloudEvent, HTTP } from "cloudevents";
import type { Outcome } from "../acts/context.ts";
import { type Change, REPLY_PREFIX } from "../events/change.ts";
import { keyText } from "../objects/object.ts";

export interface Reply {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Who replies, and when. */
export interface Replying {
  readonly name: string;
  readonly at: Temporal.Instant;
  /** Acts were only decided, not done. */
  readonly dryRun: boolean;
}

/**
 * The one CloudEvent that answers a change, in binary form: counts for a sweep, else the acts, named after the first.
 * Undefined when nothing was done, so that the answer stays empty (the Broker takes any other body for a broken event).
 */
export function replyTo(change: Change, outcome: Outcome, { name, at, dryRun }: Replying): Reply | undefined {
  const source = `/capi-caretaker/${name}`;
  const time = at.toString();
  if (change.type === "sweep") {
    const data = { counts: outcome.counts, acts: outcome.acts, ...(dryRun && { dryRun }) };
    return binary(new CloudEvent({ type: `${REPLY_PREFIX}sweep.completed`, source, time, data }));
  }
  const [first] = outcome.acts;
  if (first === undefined || dryRun) return undefined;
  const type = `${REPLY_PREFIX}${first.noun}.${first.done}`;
  return binary(new CloudEvent({ type, source, time, subject: keyText(first.object), data: { acts: outcome.acts } }));
}

function binary(event: CloudEvent<unknown>): Reply {
  const { headers, body } = HTTP.binary(event);
  const plain = Object.entries(headers).map(([field, value]) => [field, String(value)] as const);
  return { headers: Object.fromEntries(plain), body: String(body) };
}
