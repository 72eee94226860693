import type { Cluster } from "../../shared/cluster.ts";
import { type GroupKind, keyOf } from "../../shared/object.ts";

const PART_OF = "app.kubernetes.io/part-of";
const WOULD_PUT_BACK: readonly GroupKind[] = [
  { group: "eventing.knative.dev", kind: "Trigger" },
  { group: "admissionregistration.k8s.io", kind: "MutatingAdmissionPolicy" },
];

/** Our Triggers and admission policies that still stand: they would put released holds back. */
export async function whatPutsBack(cluster: Cluster): Promise<readonly string[]> {
  const standing = await Promise.all(
    WOULD_PUT_BACK.map((kind) => cluster.list(kind, { label: PART_OF, metadataOnly: true })),
  );
  return standing
    .flat()
    .filter(({ metadata }) => metadata.labels?.[PART_OF] === "capi-caretaker")
    .map(keyOf)
    .map(({ kind, namespace, name }) => `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`);
}
