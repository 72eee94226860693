import type { Cluster } from "../../shared/cluster/cluster.ts";
import type { Facts } from "../../shared/look/facts.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";
import type { Answer } from "../../shared/owners/answer.ts";
import { type Owner, ownerOf } from "../../shared/owners/owner.ts";
import { openRecords } from "../../shared/owners/records.ts";

/** The one owner of a template, and what its record says of it. */
export interface OwnerSays extends Answer {
  readonly owner: Owner;
}

/** Undefined for what has no owner, or several. */
export type OwnersSay = (key: ObjectKey) => OwnerSays | undefined;

/** Asks the record of every template's owner, whatever RETIRE_ORPHANS says; one that cannot be read is unknown. */
export async function askOwners(cluster: Cluster, { graph }: Facts): Promise<OwnersSay> {
  const records = openRecords(cluster);
  const said = new Map<string, OwnerSays>();
  for (const template of graph.objects.filter((object) => isTemplateKind(keyOf(object)))) {
    const owner = ownerOf(template);
    if (typeof owner === "string") continue;
    said.set(keyText(keyOf(template)), { owner, ...(await records(owner, template)) });
  }
  return (key) => said.get(keyText(key));
}

/** What an owner says of its template, for people. */
export function ownerSentence({ owner: { kind, namespace, name }, lists, reason }: OwnerSays): string {
  const named = namespace === undefined ? name : `${namespace}/${name}`;
  // It is whatever the template's annotation says: a line break in it must not pass for a line of the plan.
  const shown = /^[\w./-]+$/.test(named) ? named : JSON.stringify(named);
  const who = `${kind === "Release" ? "Helm release" : kind} ${shown}`;
  if (lists === "unknown") return `whether ${who} lists it is unknown (${reason})`;
  return lists ? `${who} lists it` : `${who} no longer lists it`;
}
