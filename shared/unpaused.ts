import type { Change } from "./change.ts";
import { CORE } from "./kinds.ts";
import { instant } from "./marks.ts";
import { isTerminating, type KubeObject, keyOf } from "./object.ts";
import { isPaused } from "./owning-clusters.ts";
import { isRecord, valuesAt } from "./path.ts";

// Long enough for a Broker's retries, short enough that a cluster's ordinary status updates cost nothing.
const FRESH = Temporal.Duration.from({ minutes: 5 });

/**
 * Whether an update of a Cluster may be the one that unpaused it, as after a `clusterctl move`. Where its Paused
 * condition tells that it was unpaused long ago, the event is an ordinary one.
 */
export function mayJustBeUnpaused(change: Change, now: Temporal.Instant): boolean {
  if (change.type !== "object" || change.action !== "update") return false;
  const { group, kind } = keyOf(change.object);
  if (group !== CORE || kind !== "Cluster" || isTerminating(change.object) || isPaused(change.object)) return false;
  const unpaused = lastUnpaused(change.object);
  return unpaused === undefined || Temporal.Instant.compare(unpaused.add(FRESH), now) > 0;
}

/** Since when the condition Paused is False (v1beta2 status; under `status.v1beta2` when read as v1beta1). */
function lastUnpaused(cluster: KubeObject): Temporal.Instant | undefined {
  const conditions = ["status.conditions[]", "status.v1beta2.conditions[]"].flatMap((path) => valuesAt(cluster, path));
  const paused = conditions.map(({ value }) => value).find((one) => isRecord(one) && one.type === "Paused");
  if (!isRecord(paused) || paused.status !== "False") return undefined;
  return instant(typeof paused.lastTransitionTime === "string" ? paused.lastTransitionTime : undefined);
}
