import type { Cluster } from "../../shared/cluster.ts";
import { type GroupKind, keyOf } from "../../shared/object.ts";

const PART_OF = "app.kubernetes.io/part-of";
const WOULD_PUT_BACK: readonly GroupKind[] = [
  { group: "eventing.knative.dev", kind: "Trigger" },
  { group: "admissionregistration.k8s.io", kind: "MutatingAdmissionPolicy" },
];

/**
 * Our Triggers and admission policies that still stand: they would put released holds back. `ownNamespace` is looked at
 * too where NAMESPACES does not name it.
 */
export async function whatPutsBack(cluster: Cluster, ownNamespace: string): Promise<readonly string[]> {
  const standing = await Promise.all(
    WOULD_PUT_BACK.flatMap((kind) => [
      cluster.list(kind, { label: PART_OF, metadataOnly: true }),
      cluster.list(kind, { label: PART_OF, metadataOnly: true, namespace: ownNamespace }),
    ]),
  );
  const named = standing
    .flat()
    .filter(({ metadata }) => metadata.labels?.[PART_OF] === "capi-caretaker")
    .map(keyOf)
    .map(({ kind, namespace, name }) => `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`);
  return [...new Set(named)];
}
