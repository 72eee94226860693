import type { Context } from "../../shared/acts/context.ts";
import { tell } from "../../shared/acts/tell.ts";
import { type Cluster, failedWith } from "../../shared/cluster/cluster.ts";
import { annotation } from "../../shared/marks/marks.ts";
import { type GroupKind, type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { stringAt } from "../../shared/objects/path.ts";
import type { Refusal } from "./decide.ts";
import type { Reason } from "./facts.ts";
import { ADOPTION_REFUSED } from "./marks.ts";

export const EVENT: GroupKind = { group: "events.k8s.io", kind: "Event" };
const REFUSED = "AdoptionRefused";
/** The API server takes notes of up to 1024 bytes (k8s.io/api/events/v1). */
const LONGEST_NOTE = 1000;

/**
 * Tells people on the object why nothing happens: the first reason as annotation, all of them as Warning Events. Events
 * that the annotation says were told are told again by sweeps alone, which see to it that they outlast their hour.
 * Returns whether the object was written, so that what is in hand is no longer what is there.
 */
export async function tellRefusal(
  context: Context,
  object: KubeObject,
  refusal: Refusal,
  isSweep: boolean,
): Promise<boolean> {
  const isNews = annotation(object, ADOPTION_REFUSED) !== refusal.because;
  if (isNews || isSweep) await tellReasons(context, object, REFUSED, refusal.reasons);
  // After the Events, so that it never speaks of Events that a crash kept from being told.
  if (isNews) {
    await context.cluster.patch(object, { metadata: { annotations: { [ADOPTION_REFUSED]: refusal.because } } });
  }
  return isNews;
}

/** Tells people what they should know about an adoption that goes on all the same. */
export async function tellWarnings(context: Context, object: KubeObject, warnings: readonly Reason[]): Promise<void> {
  await tellReasons(context, object, "AdoptionWarning", warnings);
}

/** The messages name machines, which come and go: what makes these the same reasons again is their words alone. */
async function tellReasons(
  context: Context,
  regarding: KubeObject,
  reason: string,
  reasons: readonly Reason[],
): Promise<void> {
  const words = [...new Set(reasons.map((one) => one.reason))].sort().join(" ");
  for (const [index, note] of notesOf(reasons).entries()) {
    const state = `${words} ${index + 1}`;
    await tell(context, { regarding, type: "Warning", reason, action: "Adopt", note, state });
  }
}

/**
 * Takes a refusal back once its cause is gone: the annotation, and the Events as far as they may be deleted. Returns
 * whether the object was written.
 */
export async function withdrawRefusal(context: Context, object: KubeObject): Promise<boolean> {
  if (annotation(object, ADOPTION_REFUSED) === undefined) return false;
  await deleteRefusals(context, object);
  await context.cluster.patch(object, { metadata: { annotations: { [ADOPTION_REFUSED]: null } } });
  return true;
}

async function deleteRefusals({ cluster, log }: Context, object: KubeObject): Promise<void> {
  try {
    for (const event of await eventsOn(cluster, object)) {
      if (stringAt(event, "reason") === REFUSED) await cluster.delete(event);
    }
  } catch (error) {
    // They expire by themselves, so the adoption does not wait for them.
    log.warn({ object: keyText(keyOf(object)), err: error }, "Events of the refusal stay until they expire");
  }
}

/** The Events on an object, none where they may not be read. */
export async function eventsOn(cluster: Cluster, object: KubeObject): Promise<readonly KubeObject[]> {
  const { namespace = "", name } = object.metadata;
  try {
    const events = await cluster.list(EVENT, { namespace });
    return events.filter(
      (event) => stringAt(event, "regarding.kind") === object.kind && stringAt(event, "regarding.name") === name,
    );
  } catch (error) {
    if (failedWith(error, "forbidden")) return [];
    throw error;
  }
}

/** Packs reasons into as few notes as fit; one that is too long by itself is cut. */
function notesOf(reasons: readonly Reason[]): readonly string[] {
  const notes: string[] = [];
  for (const { reason, message } of reasons) {
    const sentence = `${reason}: ${message}`.slice(0, LONGEST_NOTE);
    const last = notes.at(-1);
    if (last !== undefined && `${last} ${sentence}`.length <= LONGEST_NOTE)
      notes[notes.length - 1] = `${last} ${sentence}`;
    else notes.push(sentence);
  }
  return notes;
}
