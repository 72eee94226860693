import { isRetired } from "../marks/marks.ts";
import { CONTROL_PLANE, CORE, isTemplateKind } from "../objects/kinds.ts";
import { groupOf, isTerminating, type KubeObject, keyOf, type ObjectKey } from "../objects/object.ts";
import type { Graph } from "./graph.ts";
import { clusterState } from "./owning-clusters.ts";

const WANTING_KINDS: ReadonlySet<string> = new Set([
  "MachineDeployment",
  "MachineSet",
  "MachinePool",
  "ClusterClass",
  "MachineHealthCheck",
]);

/**
 * Those whose current spec asks for this template: they will clone it again, so it must be a live object. A reference
 * from a status or a cloned-from annotation is history and asks for nothing.
 *
 * `isNamespaceLeaving` tells of a namespace that is Terminating or gone.
 */
export function wantedBy(
  key: ObjectKey,
  graph: Graph,
  isNamespaceLeaving: (namespace: string) => boolean,
): readonly ObjectKey[] {
  return graph
    .referrersOf(key)
    .filter(({ path }) => path.startsWith("spec"))
    .map(({ referrer }) => referrer)
    .filter((referrer) => {
      const live = graph.get(referrer);
      if (live === undefined || !wants(live) || isTerminating(live)) return false;
      return !isNamespaceLeaving(referrer.namespace) && !clusterState(live, graph).gone;
    });
}

/** Whether this object's spec asks for the templates it names, as far as the object alone tells. */
export function wants(object: KubeObject): boolean {
  const { group, kind } = keyOf(object);
  if (isTemplateKind({ group, kind })) return !isRetired(object);
  if (group === CONTROL_PLANE) return true;
  if (group !== CORE || !WANTING_KINDS.has(kind)) return false;
  return kind !== "MachineSet" || !hasDeployment(object);
}

/** A MachineSet that a MachineDeployment controls may be an old revision; its deployment speaks for the current one. */
function hasDeployment(object: KubeObject): boolean {
  return (object.metadata.ownerReferences ?? []).some(
    (owner) => owner.kind === "MachineDeployment" && groupOf(owner.apiVersion) === CORE,
  );
}
