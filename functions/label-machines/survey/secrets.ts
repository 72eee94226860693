import { type Cluster, failedWith } from "../../../shared/cluster/cluster.ts";
import type { ObjectKey } from "../../../shared/objects/object.ts";
import { secretNames } from "../checks/secrets.ts";
import type { SecretState } from "../facts.ts";

/**
 * The state of each secret that the control plane needs, by name. Never reads one: it asks
 * only whether they are there, and where it may not even do that they count as unreadable. Throws a ClusterError for
 * everything but "forbidden".
 */
export async function secretStates(
  cluster: Cluster,
  clusterName: string,
  namespace: string,
): Promise<ReadonlyMap<string, SecretState>> {
  const states = new Map<string, SecretState>();
  for (const name of secretNames(clusterName)) {
    states.set(name, await stateOf(cluster, { group: "", kind: "Secret", namespace, name }));
  }
  return states;
}

async function stateOf(cluster: Cluster, key: ObjectKey): Promise<SecretState> {
  try {
    return (await cluster.exists(key)) ? "there" : "missing";
  } catch (error) {
    if (failedWith(error, "forbidden")) return "unreadable";
    throw error;
  }
}
