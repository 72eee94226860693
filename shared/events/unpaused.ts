import { isPaused } from "../graph/owning-clusters.ts";
import { instant } from "../marks/marks.ts";
import { CORE } from "../objects/kinds.ts";
import { isTerminating, type KubeObject, keyOf } from "../objects/object.ts";
import { isRecord, valuesAt } from "../objects/path.ts";
import type { Change } from "./change.ts";

// Long enough for a Broker's retries, short enough that a cluster's ordinary status updates cost nothing.
const FRESH = Temporal.Duration.from({ minutes: 5 });

/**
 * Whether an update of a Cluster may be the one that unpaused it, as after a `clusterctl move`. Where its Paused
 * condition tells that it was unpaused long ago, the event is an ordinary one; so it is without that condition (before
 * Cluster API 1.9) where the controller has acted on the spec as it is: a change of `spec.paused` is one it has not
 * seen yet. That the annotation was taken off leaves no trace there, and is for the sweep.
 */
export function mayJustBeUnpaused(change: Change, now: Temporal.Instant): boolean {
  if (change.type !== "object" || change.action !== "update") return false;
  const { object } = change;
  const { group, kind } = keyOf(object);
  if (group !== CORE || kind !== "Cluster" || isTerminating(object) || isPaused(object)) return false;
  const condition = pausedCondition(object);
  if (condition === undefined) return !isObserved(object);
  const unpaused = condition.status === "False" ? instant(condition.since) : undefined;
  return unpaused === undefined || Temporal.Instant.compare(unpaused.add(FRESH), now) > 0;
}

/**
 * What tells one unpausing of an unpaused Cluster from the next, the same for all its updates until it is paused again
 * (without the Paused condition: until its spec changes). Undefined where nothing tells them apart.
 */
export function unpausing(cluster: KubeObject): string | undefined {
  const { uid, generation } = cluster.metadata;
  const condition = pausedCondition(cluster);
  const since = condition === undefined ? generation : condition.since && `${condition.status} ${condition.since}`;
  return uid === undefined || since === undefined ? undefined : `${uid} ${since}`;
}

interface PausedCondition {
  readonly status: string;
  /** RFC 3339. */
  readonly since: string | undefined;
}

/** The condition Paused (v1beta2 status; under `status.v1beta2` when read as v1beta1). */
function pausedCondition(cluster: KubeObject): PausedCondition | undefined {
  const conditions = ["status.conditions[]", "status.v1beta2.conditions[]"].flatMap((path) => valuesAt(cluster, path));
  const paused = conditions.map(({ value }) => value).find((one) => isRecord(one) && one.type === "Paused");
  if (!isRecord(paused)) return undefined;
  const { status, lastTransitionTime: since } = paused;
  return { status: String(status), since: typeof since === "string" ? since : undefined };
}

/** Whether its controller says that it has acted on the spec as it is. */
function isObserved({ metadata, status }: KubeObject): boolean {
  const observed = isRecord(status) ? status.observedGeneration : undefined;
  return typeof observed === "number" && observed === metadata.generation;
}
