import type { Context } from "../../shared/context.ts";
import { isOffLimits, isOptedOut } from "../../shared/marks.ts";
import { isTerminating, type KubeObject } from "../../shared/object.ts";
import { ownerOf } from "../../shared/owners/owner.ts";
import type { Records } from "../../shared/owners/records.ts";
import type { Said } from "./by-record.ts";

/**
 * What the record of a template's owner says. Undefined, and nothing is read, where it has not exactly one, where
 * RETIRE_ORPHANS does not name its tool, and where no answer would change the decision.
 */
export async function askRecord(
  { settings }: Pick<Context, "settings">,
  records: Records,
  template: KubeObject,
): Promise<Said | undefined> {
  if (isTerminating(template) || isOptedOut(template) || isOffLimits(template)) return undefined;
  const owner = ownerOf(template);
  if (typeof owner === "string" || !settings.retireOrphans.includes(owner.tool)) return undefined;
  return { tool: owner.tool, ...(await records(owner, template)) };
}
