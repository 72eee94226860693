import { type Cluster, failedWith } from "../../shared/cluster.ts";
import type { ObjectKey } from "../../shared/object.ts";
import { secretNames } from "./checks/secrets.ts";
import type { SecretState } from "./facts.ts";

/** A cluster that can tell whether an object is there without reading it: asked for as a Table without the object. */
interface Existence {
  /** Throws ClusterError "forbidden" where even that may not be asked. */
  exists(key: ObjectKey): Promise<boolean>;
}

/**
 * The state of each secret that the control plane needs, by name. Never reads one: where the cluster cannot tell
 * without, it counts as unreadable. Throws a ClusterError for everything but "forbidden".
 */
export async function secretStates(
  cluster: Cluster | (Cluster & Existence),
  clusterName: string,
  namespace: string,
): Promise<ReadonlyMap<string, SecretState>> {
  const states = new Map<string, SecretState>();
  for (const name of secretNames(clusterName)) {
    states.set(name, await stateOf(cluster, { group: "", kind: "Secret", namespace, name }));
  }
  return states;
}

async function stateOf(cluster: Cluster | (Cluster & Existence), key: ObjectKey): Promise<SecretState> {
  if (!("exists" in cluster)) return "unreadable";
  try {
    return (await cluster.exists(key)) ? "there" : "missing";
  } catch (error) {
    if (failedWith(error, "forbidden")) return "unreadable";
    throw error;
  }
}
