import type { Context } from "../../../shared/acts/context.ts";
import { tell } from "../../../shared/acts/tell.ts";
import { annotation, PAUSED } from "../../../shared/marks/marks.ts";
import { keyOf } from "../../../shared/objects/object.ts";
import type { AdoptionFacts } from "../facts.ts";
import { ADOPT, ADOPTION_REFUSED, ALLOW_ROLLOUT, LABELLING } from "../marks.ts";
import type { Done } from "./label.ts";

/**
 * Lets the control plane act: removes the pause that a person set on it, never its Cluster's. The write conflicts when
 * anything happened to the control plane since the facts were read. Returns whether there was one to remove.
 */
export async function release(context: Context, { controlPlane }: AdoptionFacts, done: Done): Promise<boolean> {
  if (annotation(controlPlane, PAUSED) === undefined) return false;
  await context.cluster.patch(controlPlane, { metadata: { annotations: { [PAUSED]: null } } });
  const note = "All machines and their KubeadmConfigs are labelled; the pause is removed and the adoption begins.";
  await tell(context, { regarding: controlPlane, type: "Normal", reason: "MachinesLabelled", action: "Adopt", note });
  done({ noun: "control-plane", done: "unpaused", object: keyOf(controlPlane), because: "all-labelled" });
  return true;
}

/** Ends an adoption: removes the opt-in and every mark of ours, so that a later move carries none, and says so. */
export async function conclude(context: Context, { controlPlane }: AdoptionFacts, done: Done): Promise<void> {
  const marks = [ADOPT, ALLOW_ROLLOUT, ADOPTION_REFUSED, LABELLING];
  const annotations = Object.fromEntries(marks.map((mark) => [mark, null]));
  await context.cluster.patch(controlPlane, { metadata: { annotations } });
  const note = "Every control-plane machine has this control plane as its controller.";
  await tell(context, { regarding: controlPlane, type: "Normal", reason: "Adopted", action: "Adopt", note });
  done({ noun: "control-plane", done: "adopted", object: keyOf(controlPlane), because: "owned" });
}
