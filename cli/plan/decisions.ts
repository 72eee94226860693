import {
  type Decision as Collect,
  decide as decideCollect,
  type Terms,
} from "../../functions/collect-templates/decide.ts";
import { decide as decideRetain, type Decision as Retain } from "../../functions/retain-templates/decide.ts";
import type { Facts } from "../../shared/facts.ts";
import { isTemplateKind } from "../../shared/kinds.ts";
import { type KubeObject, keyOf } from "../../shared/object.ts";

/** A decision with the object it is about. */
export type Planned = { readonly object: KubeObject } & (
  | { readonly concern: "retain-templates"; readonly decision: Exclude<Retain, { verdict: "leave" }> }
  | { readonly concern: "collect-templates"; readonly decision: Exclude<Collect, { verdict: "leave" }> }
);

/** What every function would do now, object by object, without those that they leave alone. */
export function planAll(facts: Facts, terms: Terms): readonly Planned[] {
  return facts.graph.objects
    .filter((object) => isTemplateKind(keyOf(object)))
    .flatMap((object): Planned[] => {
      const retain = decideRetain(object);
      const collect = decideCollect(object, facts, terms);
      return [
        ...(retain.verdict === "leave" ? [] : [{ object, concern: "retain-templates" as const, decision: retain }]),
        ...(collect.verdict === "leave" ? [] : [{ object, concern: "collect-templates" as const, decision: collect }]),
      ];
    });
}
