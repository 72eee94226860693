import type { Change } from "../../shared/events/change.ts";
import { annotation } from "../../shared/marks/marks.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { METAL3_MACHINE } from "./carriers.ts";
import { findIn } from "./findings.ts";
import { HOST } from "./hosts.ts";
import { contestOf } from "./record.ts";
import type { Rules } from "./rules.ts";
import { owesFields } from "./write.ts";

/**
 * Whether an object's event can mean work, from the event alone, so that an ordinary one costs no read: a template that
 * appeared or changed, or a Metal3Machine that is born without a host, and in it a URL that a rule takes. What else
 * there is (a host that lost its image, a control plane to report on) is for the sweep.
 */
export function isWorthALook(change: Change, rules: Rules): boolean {
  if (change.type !== "object" || change.action === "delete") return false;
  const { action, object } = change;
  const key = keyOf(object);
  const isNewMachine =
    key.group === METAL3_MACHINE.group &&
    key.kind === METAL3_MACHINE.kind &&
    action === "add" &&
    annotation(object, HOST) === undefined;
  if (!isTemplateKind(key) && !isNewMachine) return false;
  return isConcerned(object, rules);
}

/** Whether a sweep has anything to do with an object: what an event would look at, and one that was contested. */
export function isOfInterest(object: KubeObject, rules: Rules): boolean {
  return isConcerned(object, rules) || contestOf(object) !== undefined;
}

function isConcerned(object: KubeObject, rules: Rules): boolean {
  const { changes, mentions } = findIn(object, rules);
  return changes.length > 0 || mentions.length > 0 || owesFields(object);
}
