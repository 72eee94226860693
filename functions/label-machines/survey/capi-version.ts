import type { KubeObject } from "../../../shared/objects/object.ts";
import { isRecord, valuesAt } from "../../../shared/objects/path.ts";

/** The definition that tells; its v1beta2 came with CAPI 1.11, and `spec.taints` in it with 1.12. */
export const TELLING_DEFINITION = "machines.cluster.x-k8s.io";

/**
 * Whether the definition of Machines is that of a Cluster API before 1.12, whose KubeadmControlPlane compares machines
 * by other rules. A definition without a schema (or none) tells nothing and counts as 1.12.
 */
export function isBefore1Dot12(definition: KubeObject | undefined): boolean {
  if (definition === undefined) return false;
  const versions = valuesAt(definition, "spec.versions[]").map(({ value }) => value);
  const current = versions.find(
    (version) => isRecord(version) && version.name === "v1beta2" && version.served !== false,
  );
  if (current === undefined) return versions.length > 0;
  const fields = valuesAt(current, "schema.openAPIV3Schema.properties.spec.properties")[0]?.value;
  return isRecord(fields) && Object.keys(fields).length > 0 && !("taints" in fields);
}
