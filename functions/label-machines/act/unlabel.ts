import type { Context } from "../../../shared/acts/context.ts";
import { keyOf } from "../../../shared/objects/object.ts";
import { isHeldStill } from "../decide.ts";
import type { AdoptionFacts } from "../facts.ts";
import { CONTROL_PLANE_LABEL, LABELLING, labellingOf } from "../marks.ts";
import { isLabelled, membersOf } from "../survey/members.ts";
import { configsOf, type Done, machinesOf, nounOf } from "./label.ts";

/**
 * Takes off the labels that this function put on, after something began to speak against the adoption half-way; only
 * while the control plane is held still and has adopted nothing. KubeadmConfigs go first: without them it cannot act on
 * the Machines, should someone unpause it in this moment.
 *
 * Throws a ClusterError at the first write that fails.
 */
export async function unlabel(context: Context, facts: AdoptionFacts, done: Done): Promise<void> {
  const noted = labellingOf(facts.controlPlane);
  const members = membersOf(facts);
  if (noted === undefined || members.some(({ control }) => control === "own")) return;
  const ours = [
    ...configsOf(members).filter(({ metadata }) => noted.configs.includes(metadata.name)),
    ...machinesOf(members).filter(({ metadata }) => noted.machines.includes(metadata.name)),
  ].filter(isLabelled);
  for (const object of ours) {
    if (!(await isStillHeld(context, facts))) return;
    await context.cluster.patch(object, { metadata: { labels: { [CONTROL_PLANE_LABEL]: null } } });
    done({ noun: nounOf(object), done: "unlabelled", object: keyOf(object), because: "adoption-refused" });
  }
  await context.cluster.patch(facts.controlPlane, { metadata: { annotations: { [LABELLING]: null } } });
}

async function isStillHeld({ cluster: api }: Context, { controlPlane, cluster }: AdoptionFacts): Promise<boolean> {
  const live = await api.get(keyOf(controlPlane));
  const owner = cluster && (await api.get(keyOf(cluster)));
  return live !== undefined && isHeldStill({ controlPlane: live, cluster: owner });
}
