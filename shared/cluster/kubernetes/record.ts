import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { FIELD_MANAGER } from "../../marks/marks.ts";
import { keyOf, keyText } from "../../objects/object.ts";
import { type EventRecord, failedWith } from "../cluster.ts";
import { collectionPath, query } from "./paths.ts";
import { jsonOf, type Request } from "./request.ts";

const EVENTS = { group: "events.k8s.io", version: "v1", plural: "events", namespaced: true };
const CONTROLLER = "capi-caretaker.io/caretaker";
/** Limits in bytes: kubernetes pkg/apis/core/validation/events.go. */
const LONGEST_NOTE = 1024;
const LONGEST_INSTANCE = 128;

/**
 * Creates an events.k8s.io Event. Its name comes from the object, the reason and the state, so that telling the same
 * again finds it there; the API server forgets Events after an hour.
 *
 * @param at when it happened
 */
export async function recordEvent(request: Request, event: EventRecord, at: Temporal.Instant): Promise<void> {
  const { regarding, type, reason, action } = event;
  const { name, namespace, uid, resourceVersion } = regarding.metadata;
  const note = cut(event.note, LONGEST_NOTE);
  // The API server takes Events about objects of no namespace only in this one.
  const home = namespace ?? "default";
  const told = [uid ?? keyText(keyOf(regarding)), reason, event.state ?? note].join("\n");
  const digest = createHash("sha256").update(told).digest("hex").slice(0, 16);
  const body = {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: `${name.slice(0, 200).replace(/[^a-z0-9]+$/, "")}.${digest}`, namespace: home },
    eventTime: at.toString({ smallestUnit: "microsecond" }),
    reportingController: CONTROLLER,
    reportingInstance: cut(hostname(), LONGEST_INSTANCE),
    type,
    reason,
    action,
    note,
    regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
  };
  const path = collectionPath(EVENTS, home) + query({ fieldManager: FIELD_MANAGER });
  try {
    await request({ method: "POST", path, body }, jsonOf);
  } catch (error) {
    if (!failedWith(error, "already-exists")) throw error;
  }
}

/** The text, or as much of its start as fits into so many bytes of UTF-8. */
function cut(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  return buffer.length <= bytes ? text : new TextDecoder().decode(buffer.subarray(0, bytes), { stream: true });
}
