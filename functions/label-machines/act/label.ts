import type { Act, Context } from "../../../shared/acts/context.ts";
import { annotation, CLUSTER_NAME, label } from "../../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import type { AdoptionFacts } from "../facts.ts";
import { CONTROL_PLANE_LABEL, LABELLING, labellingOf } from "../marks.ts";
import { isLabelled, type Member, membersOf } from "../survey/members.ts";

/** Takes in what was done, as it is done. */
export type Done = (act: Act) => void;

/**
 * Labels what is left to label, all Machines before the first KubeadmConfig: a control plane sees only labelled
 * configs, and errs instead of scaling while one of them is missing.
 *
 * Throws a ClusterError at the first write that fails; what was labelled until then stays for the next try.
 */
export async function labelAll(context: Context, facts: AdoptionFacts, because: string, done: Done): Promise<void> {
  const free = membersOf(facts).filter(({ control }) => control === "free");
  await noteLabelling(context, facts.controlPlane, free);
  for (const object of [...machinesOf(free), ...configsOf(free)]) {
    const labels = missingLabels(object, facts.clusterName);
    if (Object.keys(labels).length === 0) continue;
    await context.cluster.patch(object, { metadata: { labels } });
    done({ noun: nounOf(object), done: "labelled", object: keyOf(object), because });
  }
}

/** What a reply calls a Machine or a KubeadmConfig. */
export function nounOf({ kind }: KubeObject): string {
  return kind === "Machine" ? "machine" : "config";
}

export function machinesOf(members: readonly Member[]): readonly KubeObject[] {
  return members.map(({ machine }) => machine);
}

export function configsOf(members: readonly Member[]): readonly KubeObject[] {
  return members.map(({ config }) => config).filter((config) => config !== undefined);
}

/** Writes down what is about to be labelled, so that a later event finishes it, or takes exactly that off again. */
async function noteLabelling({ cluster }: Context, controlPlane: KubeObject, free: readonly Member[]): Promise<void> {
  const before = labellingOf(controlPlane);
  const machines = namesOf(machinesOf(free), before?.machines);
  const note = JSON.stringify({ machines, configs: namesOf(configsOf(free), before?.configs) });
  if (annotation(controlPlane, LABELLING) === note) return;
  await cluster.patch(controlPlane, { metadata: { annotations: { [LABELLING]: note } } });
}

function namesOf(objects: readonly KubeObject[], noted: readonly string[] = []): readonly string[] {
  const fresh = objects.filter((object) => !isLabelled(object)).map(({ metadata }) => metadata.name);
  return [...new Set([...noted, ...fresh])].sort();
}

function missingLabels(object: KubeObject, clusterName: string): Record<string, string> {
  return {
    ...(!isLabelled(object) && { [CONTROL_PLANE_LABEL]: "" }),
    ...(label(object, CLUSTER_NAME) !== clusterName && { [CLUSTER_NAME]: clusterName }),
  };
}
