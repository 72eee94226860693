import { type Cluster, ClusterError, failedWith } from "../cluster/cluster.ts";
import type { KubeObject, ObjectKey } from "../objects/object.ts";

const ATTEMPTS = 5;

/**
 * Acts on an object as it now is, and again on a fresh read after each conflict, at most five times in all.
 *
 * Returns undefined when the object is gone. Throws ClusterError "unavailable" when the last attempt conflicts too,
 * and whatever else `act` throws.
 *
 * @param seen the object as it was just read, which spares the first read
 */
export async function onObject<Result>(
  cluster: Cluster,
  key: ObjectKey,
  act: (live: KubeObject) => Promise<Result>,
  seen?: KubeObject,
): Promise<Result | undefined> {
  let live = seen ?? (await cluster.get(key));
  for (let left = ATTEMPTS; live !== undefined; left -= 1) {
    try {
      return await act(live);
    } catch (error) {
      if (!failedWith(error, "not-found", "conflict")) throw error;
      const { uid } = live.metadata;
      live = await cluster.get(key);
      // While this very object stands, what was not found is something else that the act needed.
      if (live?.metadata.uid === uid && error.failure === "not-found") throw error;
      if (live !== undefined && left === 1) {
        throw new ClusterError("unavailable", `still in conflict: ${error.message}`, { cause: error });
      }
    }
  }
  return undefined;
}
