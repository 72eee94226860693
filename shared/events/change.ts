import { CloudEvent, HTTP } from "cloudevents";
import { z } from "zod";
import { KubeObject } from "../objects/object.ts";
import { InputError } from "../setup/input-error.ts";

/** What an event says happened. It is a hint: whoever acts reads the object again. */
export type Change =
  | { readonly type: "object"; readonly action: "add" | "update" | "delete"; readonly object: KubeObject }
  | { readonly type: "sweep" }
  /** A reply of these functions that came back; acting on it would make a loop. */
  | { readonly type: "own-reply" };

/** The prefix of every event these functions reply with. */
export const REPLY_PREFIX = "io.capi-caretaker.";

const RESOURCE_EVENT = /^dev\.knative\.apiserver\.resource\.(add|update|delete)$/;
const REFERENCE_EVENT = "dev.knative.apiserver.ref.";
const PING_EVENT = "dev.knative.sources.ping";

/**
 * Reads a CloudEvent of the ApiServerSource (Resource mode) or the PingSource, in binary or structured HTTP form.
 *
 * @param headers with lower-case names
 * @throws InputError for what is no CloudEvent, of an unknown type, or without an object that can be read
 */
export function readChange(headers: Readonly<Record<string, string>>, body: string): Change {
  const event = readEvent(headers, body);
  if (event.type.startsWith(REPLY_PREFIX)) return { type: "own-reply" };
  if (event.type === PING_EVENT) return { type: "sweep" };
  if (event.type.startsWith(REFERENCE_EVENT)) {
    throw new InputError("the event carries a reference only; set `mode: Resource` on the ApiServerSource");
  }
  const [, action] = RESOURCE_EVENT.exec(event.type) ?? [];
  if (action === undefined) {
    throw new InputError(`events of type ${event.type} are not handled here; filter them out in the Trigger`);
  }
  // One object is checked at a time here, so that the first event need not wait for zod to compile its check.
  const object = KubeObject.safeParse(dataOf(event), { jitless: true });
  if (!object.success) throw new InputError(`data is no Kubernetes object: ${z.prettifyError(object.error)}`);
  for (const text of [object.data.metadata.name, object.data.metadata.namespace ?? ""]) {
    if (!isPathSegment(text))
      throw new InputError(`data is no Kubernetes object: ${JSON.stringify(text)} names nothing`);
  }
  return { type: "object", action: action as "add" | "update" | "delete", object: object.data };
}

/** What an API server takes as a name (k8s.io/apimachinery pkg/api/validation/path, IsValidPathSegmentName). */
function isPathSegment(text: string): boolean {
  return text !== "." && text !== ".." && !/[/%]/.test(text);
}

function readEvent(headers: Readonly<Record<string, string>>, body: string): CloudEvent<unknown> {
  try {
    // The SDK knows a content type in one spelling only.
    const contentType = (headers["content-type"] ?? "").toLowerCase().replace(/\s*;\s*/, "; ");
    const event = HTTP.toEvent({ headers: { ...headers, "content-type": contentType }, body });
    if (Array.isArray(event)) throw new Error("a batch; send its events one by one");
    if (!(event instanceof CloudEvent)) throw new Error("neither binary nor structured form");
    // The SDK validates events of the one version it knows and passes all others.
    if (event.specversion !== "1.0") throw new Error(`specversion ${event.specversion} instead of 1.0`);
    event.validate();
    return event;
  } catch (error) {
    throw new InputError(`not a CloudEvent: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

// The SDK parses JSON only under two spellings of the content type, and leaves structured base64 as it is.
function dataOf(event: CloudEvent<unknown>): unknown {
  const text = event.data_base64 === undefined ? event.data : Buffer.from(event.data_base64, "base64").toString("utf8");
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError("data is not JSON", { cause: error });
  }
}
