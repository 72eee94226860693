import { type Cluster, failedWith } from "../../../shared/cluster/cluster.ts";
import type { KubeObject, ObjectKey } from "../../../shared/objects/object.ts";
import { keyOf } from "../../../shared/objects/object.ts";
import { type Decision, decide } from "../decide.ts";
import { isClusterKind, isControlPlaneKind } from "../events.ts";
import { gatherAdoption } from "../gather.ts";
import { isOptedIn } from "../marks.ts";
import { decidePreparation, type Preparation } from "../prepare/decide.ts";
import { gatherPreparation } from "../prepare/facts.ts";

/** What becomes of one marked object, a control plane or a Cluster. */
export interface Surveyed {
  readonly object: ObjectKey;
  readonly decision: Decision | Preparation;
}

/** Every control plane and Cluster that a person marked. Kinds that may not be listed are no kinds of ours. */
export async function markedObjects(cluster: Cluster): Promise<readonly ObjectKey[]> {
  const { served } = await cluster.discover();
  const keys: ObjectKey[] = [];
  for (const kind of served.filter((one) => isControlPlaneKind(one) || isClusterKind(one))) {
    const found = await listed(cluster, kind);
    keys.push(...found.filter(isOptedIn).map(keyOf));
  }
  return keys;
}

/**
 * Decides about every marked object and carries nothing out: what `plan` prints.
 *
 * Throws a ClusterError where something that bears on a decision cannot be read.
 *
 * @param serviceAccount who the function would run as, `namespace:name`
 */
export async function survey(
  cluster: Cluster,
  now: Temporal.Instant,
  serviceAccount: string,
): Promise<readonly Surveyed[]> {
  const surveyed: Surveyed[] = [];
  for (const object of await markedObjects(cluster)) {
    const decision = isClusterKind(object)
      ? await preparationOf(cluster, object, now, serviceAccount)
      : await adoptionOf(cluster, object, now, serviceAccount);
    if (decision !== undefined) surveyed.push({ object, decision });
  }
  return surveyed;
}

async function adoptionOf(cluster: Cluster, key: ObjectKey, now: Temporal.Instant, serviceAccount: string) {
  const facts = await gatherAdoption(cluster, key, serviceAccount);
  return facts && decide(facts, now);
}

async function preparationOf(cluster: Cluster, key: ObjectKey, now: Temporal.Instant, serviceAccount: string) {
  const facts = await gatherPreparation(cluster, key, serviceAccount);
  return facts && decidePreparation(facts, now);
}

async function listed(
  cluster: Cluster,
  { group, kind }: { readonly group: string; readonly kind: string },
): Promise<readonly KubeObject[]> {
  try {
    return await cluster.list({ group, kind }, { metadataOnly: true });
  } catch (error) {
    if (failedWith(error, "forbidden")) return [];
    throw error;
  }
}
