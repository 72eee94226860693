import type { Context } from "../../shared/acts/context.ts";
import { isOffLimits, isOptedOut } from "../../shared/marks/marks.ts";
import { isTerminating, type KubeObject } from "../../shared/objects/object.ts";
import { type Owner, ownerOf } from "../../shared/owners/owner.ts";
import type { Records } from "../../shared/owners/records.ts";
import type { Said } from "./by-record.ts";

/**
 * The owner whose record is asked about a template. Undefined where it has not exactly one, where RETIRE_ORPHANS does not
 * name its tool, and where no answer would change the decision.
 */
export function recordOwner({ settings }: Pick<Context, "settings">, template: KubeObject): Owner | undefined {
  if (isTerminating(template) || isOptedOut(template) || isOffLimits(template)) return undefined;
  const owner = ownerOf(template);
  return typeof owner === "string" || !settings.retireOrphans.includes(owner.tool) ? undefined : owner;
}

/** What the record of a template's owner says; undefined, and nothing is read, where none is asked. */
export async function askRecord(
  context: Pick<Context, "settings">,
  records: Records,
  template: KubeObject,
): Promise<Said | undefined> {
  const owner = recordOwner(context, template);
  return owner && { tool: owner.tool, ...(await records(owner, template)) };
}
