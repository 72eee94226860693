import type { Cluster } from "../cluster/cluster.ts";
import { shareRuns } from "../concurrency/share-runs.ts";
import type { ObjectKey } from "../objects/object.ts";
import { type Facts, gatherFacts } from "./facts.ts";

const looks = new WeakMap<Cluster, (template: ObjectKey) => Promise<Facts>>();

/**
 * The facts about a template, from a look that begins after the call and is shared with all that wait for one in this
 * process: a chart that takes away twenty templates at once costs two looks.
 *
 * Throws as `gatherFacts` does.
 */
export function lookAt(cluster: Cluster, template: ObjectKey): Promise<Facts> {
  const look = looks.get(cluster) ?? shareRuns<ObjectKey, Facts>((about) => gatherFacts(cluster, { about }));
  looks.set(cluster, look);
  return look(template);
}
