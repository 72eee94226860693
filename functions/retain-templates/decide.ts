import { annotation, hasHold, isOffLimits, isOptedOut, label, RETIRED_AT, RETIRED_LABEL } from "../../shared/marks.ts";
import { isTerminating, type KubeObject } from "../../shared/object.ts";

/** What a standing template needs so that it outlives a deletion its owner asks for too early. */
export type Decision =
  | { readonly verdict: "hold"; readonly because: "not-held" }
  /** Someone asked for its deletion: note when, for a restore or a move loses the deletionTimestamp. */
  | { readonly verdict: "record"; readonly because: "deletion-requested" | "label-missing" }
  | { readonly verdict: "leave"; readonly because: "off-limits" | "opted-out" | "deleted-unheld" | "held" };

/** Decides about one template, from its metadata alone. */
export function decide(template: KubeObject): Decision {
  if (isOffLimits(template)) return { verdict: "leave", because: "off-limits" };
  if (isOptedOut(template)) return { verdict: "leave", because: "opted-out" };
  // The API server takes no new finalizer on a Terminating object; its delete event is the way to bring it back.
  if (!hasHold(template)) {
    return isTerminating(template)
      ? { verdict: "leave", because: "deleted-unheld" }
      : { verdict: "hold", because: "not-held" };
  }
  const isRecorded = annotation(template, RETIRED_AT) !== undefined;
  if (isTerminating(template) && !isRecorded) return { verdict: "record", because: "deletion-requested" };
  if (isRecorded && label(template, RETIRED_LABEL) === undefined)
    return { verdict: "record", because: "label-missing" };
  return { verdict: "leave", because: "held" };
}
