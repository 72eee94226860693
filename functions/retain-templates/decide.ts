import { type AnnotationPatch, pruningOf } from "../../shared/marks/argocd-options.ts";
import {
  annotation,
  hasHold,
  isOffLimits,
  isOptedOut,
  isRetired,
  label,
  RETIRED_AT,
  RETIRED_LABEL,
} from "../../shared/marks/marks.ts";
import { isTerminating, type KubeObject } from "../../shared/objects/object.ts";
import { trackedBy } from "../../shared/owners/argocd.ts";

/** What a standing template needs so that it outlives a deletion its owner asks for too early. */
export type Decision =
  | { readonly verdict: "hold"; readonly because: "not-held" | "prune-option-taken" }
  /** Argo CD waits for what it prunes, so it is kept from pruning by `annotations`, and a hold there is goes. */
  | { readonly verdict: "hold"; readonly because: "argocd-tracked"; readonly annotations: AnnotationPatch }
  /** Someone asked for its deletion: note when, for a restore or a move loses the deletionTimestamp. */
  | { readonly verdict: "record"; readonly because: "deletion-requested" | "label-missing" }
  | {
      readonly verdict: "leave";
      readonly because: "off-limits" | "opted-out" | "deleted-unheld" | "held" | "not-pruned";
    };

/** Decides about one template, from its metadata alone. */
export function decide(template: KubeObject): Decision {
  if (isOffLimits(template)) return { verdict: "leave", because: "off-limits" };
  if (isOptedOut(template)) return { verdict: "leave", because: "opted-out" };
  if (!isRetired(template) && trackedBy(template) !== undefined) return decideTracked(template);
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

/** One that stays part of what Argo CD deploys, or whose Application has not been asked yet. */
function decideTracked(template: KubeObject): Decision {
  const pruning = pruningOf(template);
  if (pruning.state === "on") {
    return { verdict: "hold", because: "argocd-tracked", annotations: pruning.annotations };
  }
  const isHeld = hasHold(template);
  if (pruning.state === "off") {
    return isHeld
      ? { verdict: "hold", because: "argocd-tracked", annotations: {} }
      : { verdict: "leave", because: "not-pruned" };
  }
  return isHeld ? { verdict: "leave", because: "held" } : { verdict: "hold", because: "prune-option-taken" };
}
