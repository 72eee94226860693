import { setTimeout as delay } from "node:timers/promises";
import { type Answer, type CloudEvent, postCloudEvent } from "./cloud-event.ts";

export interface Retries {
  /** Attempts after the first one; Knative's shipped Broker default is 10, here 5. */
  retry: number;
  /** Milliseconds before the first retry, doubled for each further one. */
  backoffMs: number;
}

export interface Delivery {
  /** Name of the receiver. */
  to: string;
  event: CloudEvent;
  /** The status of each attempt; 0 where nothing answered, 502 for an answer that a Broker takes for a broken event. */
  statuses: number[];
  /** The last answer; undefined when nothing answered. */
  answer: Answer | undefined;
  outcome: "delivered" | "dead-letter";
}

/** Retried as Knative does (eventing 0.47, pkg/kncloudevents/retries.go): no answer, 404, 408, 409, 429 and 5xx. */
export function isRetried(status: number): boolean {
  return status === 0 || status >= 500 || [404, 408, 409, 429].includes(status);
}

/** A 2xx with a body that is no CloudEvent is a failure to the Broker's filter, which answers 502 for it. */
function brokerStatus(answer: Answer): number {
  const isBroken = answer.status >= 200 && answer.status < 300 && answer.body !== "" && answer.reply === undefined;
  return isBroken ? 502 : answer.status;
}

/** Delivers an event as a Broker's Trigger does, with its retries, and says how it went. Never throws. */
export async function deliver(
  to: string,
  url: string,
  event: CloudEvent,
  { retry, backoffMs }: Retries,
): Promise<Delivery> {
  const statuses: number[] = [];
  let answer: Answer | undefined;
  for (let attempt = 0; attempt <= retry; attempt += 1) {
    if (attempt > 0) await delay(backoffMs * 2 ** (attempt - 1));
    answer = await postCloudEvent(url, event).catch(() => undefined);
    const status = answer === undefined ? 0 : brokerStatus(answer);
    statuses.push(status);
    if (status >= 200 && status < 300) return { to, event, statuses, answer, outcome: "delivered" };
    if (!isRetried(status)) break;
  }
  return { to, event, statuses, answer, outcome: "dead-letter" };
}
