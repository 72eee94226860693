import type { Cluster } from "../../shared/cluster/cluster.ts";
import { type GroupKind, keyOf } from "../../shared/objects/object.ts";

const PART_OF = "app.kubernetes.io/part-of";
const TRIGGER: GroupKind = { group: "eventing.knative.dev", kind: "Trigger" };
const POLICY: GroupKind = { group: "admissionregistration.k8s.io", kind: "MutatingAdmissionPolicy" };

/**
 * Our Triggers and admission policies that still stand: they would put released holds back. `ownNamespace` is looked at
 * too where NAMESPACES does not name it.
 */
export async function whatPutsBack(cluster: Cluster, ownNamespace: string): Promise<readonly string[]> {
  const ours = { label: PART_OF, metadataOnly: true };
  const standing = await Promise.all([
    cluster.list(POLICY, ours),
    cluster.list(TRIGGER, ours),
    cluster.list(TRIGGER, { ...ours, namespace: ownNamespace }),
  ]);
  const named = standing
    .flat()
    .filter(({ metadata }) => metadata.labels?.[PART_OF] === "capi-caretaker")
    .map(keyOf)
    .map(({ kind, namespace, name }) => `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`);
  return [...new Set(named)];
}
