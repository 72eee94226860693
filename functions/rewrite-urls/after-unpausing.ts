import { type Context, NOTHING, type Outcome } from "../../shared/acts/context.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { unpausing } from "../../shared/events/unpaused.ts";
import { isPaused } from "../../shared/graph/owning-clusters.ts";
import { isTerminating, type ObjectKey } from "../../shared/objects/object.ts";
import { type Memory, once } from "./once.ts";
import { type Rules, rulesIn } from "./rules.ts";

const memories = new WeakMap<Cluster, Memory>();

/**
 * Looks for what waited for a Cluster, where it is unpaused now: once for each unpausing, since a Cluster that starts to
 * work again changes its status a hundred times.
 *
 * @param look at the Cluster's namespace
 */
export async function afterUnpausing(
  { cluster }: Context,
  key: ObjectKey,
  rules: Rules,
  look: () => Promise<Outcome>,
): Promise<Outcome> {
  if (rulesIn(key.namespace, rules).length === 0) return NOTHING;
  const live = await cluster.get(key);
  if (live === undefined || isTerminating(live) || isPaused(live)) return NOTHING;
  const which = unpausing(live);
  if (which === undefined) return look();
  const memory = memories.get(cluster) ?? new Map();
  memories.set(cluster, memory);
  return once(memory, `${which} ${rules.hash}`, look);
}
