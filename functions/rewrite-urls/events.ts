import type { Change } from "../../shared/change.ts";
import { isTemplateKind } from "../../shared/kinds.ts";
import { annotation } from "../../shared/marks.ts";
import { keyOf } from "../../shared/object.ts";
import { METAL3_MACHINE } from "./carriers.ts";
import { findIn } from "./findings.ts";
import { HOST } from "./hosts.ts";
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
  const { changes, mentions } = findIn(object, rules);
  return changes.length > 0 || mentions.length > 0 || owesFields(object);
}
