import type { Context } from "../../shared/context.ts";
import type { KubeObject } from "../../shared/object.ts";
import { ownerOf } from "../../shared/owners/owner.ts";
import type { Records } from "../../shared/owners/records.ts";
import type { Said } from "./by-record.ts";

/**
 * What the record of a template's owner says. Undefined where it has not exactly one, or RETIRE_ORPHANS does not name its
 * tool: then nothing is read.
 */
export async function askRecord(
  { settings }: Pick<Context, "settings">,
  records: Records,
  template: KubeObject,
): Promise<Said | undefined> {
  const owner = ownerOf(template);
  if (typeof owner === "string" || !settings.retireOrphans.includes(owner.tool)) return undefined;
  return { tool: owner.tool, ...(await records(owner, template)) };
}
