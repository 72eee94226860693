import {
  type Decision as Collect,
  decide as decideCollect,
  type Terms,
} from "../../functions/collect-templates/decide.ts";
import type { Surveyed } from "../../functions/label-machines/survey/survey.ts";
import { decide as decideRetain, type Decision as Retain } from "../../functions/retain-templates/decide.ts";
import type { Decision as Rewrite } from "../../functions/rewrite-urls/decide.ts";
import type { Undo } from "../../functions/rewrite-urls/undo.ts";
import type { Facts } from "../../shared/look/facts.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import type { RecordTool } from "../../shared/setup/settings.ts";
import type { OwnersSay } from "./owners.ts";

/** A decision with the object it is about. */
export type Planned = { readonly object: ObjectKey } & (
  | { readonly concern: "retain-templates"; readonly decision: Exclude<Retain, { verdict: "leave" }> }
  | { readonly concern: "collect-templates"; readonly decision: Exclude<Collect, { verdict: "leave" }> }
  | { readonly concern: "label-machines"; readonly decision: Exclude<Surveyed["decision"], { verdict: "leave" }> }
  | { readonly concern: "rewrite-urls"; readonly decision: Exclude<Rewrite | Undo, { verdict: "leave" }> | Checked }
);

/** What the check of a new URL makes of a rewrite. */
export interface Checked {
  readonly verdict: "refuse";
  readonly because: "unreachable" | "different-length";
  readonly paths: readonly string[];
  readonly reason: string;
}

/** Of what the owners say, that which the functions would ask for. */
export interface Heard {
  readonly owners: OwnersSay;
  readonly retireOrphans: readonly RecordTool[];
}

/** What the functions that keep and collect templates would do now, without those that they leave alone. */
export function planTemplates(facts: Facts, terms: Terms, heard?: Heard): readonly Planned[] {
  return facts.graph.objects
    .filter((object) => isTemplateKind(keyOf(object)))
    .flatMap((template): Planned[] => {
      const object = keyOf(template);
      const retain = decideRetain(template);
      const collect = decideCollect(template, facts, terms, saidOf(object, heard));
      return [
        ...(retain.verdict === "leave" ? [] : [{ object, concern: "retain-templates" as const, decision: retain }]),
        ...(collect.verdict === "leave" ? [] : [{ object, concern: "collect-templates" as const, decision: collect }]),
      ];
    });
}

function saidOf(object: ObjectKey, heard: Heard | undefined) {
  const said = heard?.owners(object);
  if (said === undefined || !heard?.retireOrphans.includes(said.owner.tool)) return undefined;
  return { tool: said.owner.tool, lists: said.lists, reason: said.reason };
}
