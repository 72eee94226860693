import type { Change } from "../../shared/change.ts";
import { CORE, isTemplateKind } from "../../shared/kinds.ts";
import { instant } from "../../shared/marks.ts";
import { isTerminating, type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/object.ts";
import { isPaused } from "../../shared/owning-clusters.ts";
import { isRecord, valuesAt } from "../../shared/path.ts";
import { templatesNamedBy } from "../../shared/references.ts";

// Long enough for a Broker's retries, short enough that a cluster's ordinary status updates cost nothing.
const FRESH = Temporal.Duration.from({ minutes: 5 });

/** The templates that an event is about: the object itself, where it is one, and those it names. */
export function templatesNamed(object: KubeObject): readonly ObjectKey[] {
  const key = keyOf(object);
  const named = [...(isTemplateKind(key) ? [key] : []), ...templatesNamedBy(object)];
  return [...new Map(named.map((one) => [keyText(one), one])).values()];
}

/**
 * Whether a Cluster's event can set free templates that it does not name: it is leaving, or may just have been
 * unpaused. Where its Paused condition tells that it was unpaused long ago, the event is an ordinary one.
 */
export function freesTemplates(change: Change, now: Temporal.Instant): boolean {
  if (change.type !== "object") return false;
  const { action, object } = change;
  const { group, kind } = keyOf(object);
  if (group !== CORE || kind !== "Cluster" || action === "add") return false;
  if (action === "delete" || isTerminating(object)) return true;
  if (isPaused(object)) return false;
  const unpaused = lastUnpaused(object);
  return unpaused === undefined || Temporal.Instant.compare(unpaused.add(FRESH), now) > 0;
}

/** Since when the condition Paused is False (v1beta2 status; under `status.v1beta2` when read as v1beta1). */
function lastUnpaused(cluster: KubeObject): Temporal.Instant | undefined {
  const conditions = ["status.conditions[]", "status.v1beta2.conditions[]"].flatMap((path) => valuesAt(cluster, path));
  const paused = conditions.map(({ value }) => value).find((one) => isRecord(one) && one.type === "Paused");
  if (!isRecord(paused) || paused.status !== "False") return undefined;
  return instant(typeof paused.lastTransitionTime === "string" ? paused.lastTransitionTime : undefined);
}
