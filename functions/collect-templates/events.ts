import type { Change } from "../../shared/events/change.ts";
import { mayJustBeUnpaused } from "../../shared/events/unpaused.ts";
import { templatesNamedBy } from "../../shared/graph/references.ts";
import { CORE, isTemplateKind } from "../../shared/objects/kinds.ts";
import { isTerminating, type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";

/** The templates that an event is about: the object itself, where it is one, and those it names. */
export function templatesNamed(object: KubeObject): readonly ObjectKey[] {
  const key = keyOf(object);
  const named = [...(isTemplateKind(key) ? [key] : []), ...templatesNamedBy(object)];
  return [...new Map(named.map((one) => [keyText(one), one])).values()];
}

/** Whether a Cluster's event can set free templates that it does not name: it is leaving, or may just have been unpaused. */
export function freesTemplates(change: Change, now: Temporal.Instant): boolean {
  if (change.type !== "object") return false;
  const { action, object } = change;
  const { group, kind } = keyOf(object);
  if (group !== CORE || kind !== "Cluster") return false;
  return action === "delete" || isTerminating(object) || mayJustBeUnpaused(change, now);
}
