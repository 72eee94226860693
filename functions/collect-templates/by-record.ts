import { ARGOCD_OPTIONS } from "../../shared/marks/argocd-options.ts";
import { annotation, hasHold, RETIRED_BY } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import type { Answer } from "../../shared/owners/answer.ts";
import type { RecordTool } from "../../shared/setup/settings.ts";

/** What the record of a template's one owner says of it. */
export interface Said extends Answer {
  readonly tool: RecordTool;
}

/** What becomes of a template by the record of its owner. */
export type ByRecord =
  | { readonly verdict: "retire"; readonly because: "not-listed"; readonly tool: RecordTool }
  | { readonly verdict: "unretire"; readonly because: "listed"; readonly tool: RecordTool }
  | { readonly verdict: "wait"; readonly because: "owner-unknown"; readonly reason: string };

/** Whether we keep it from being deleted: only then is there a deletion that we may ask for later. */
export function isCaredFor(template: KubeObject): boolean {
  return hasHold(template) || annotation(template, ARGOCD_OPTIONS) !== undefined;
}

/** A live template that its settled owner no longer lists is retired, unless somebody else's spec asks for it. */
export function retireByRecord(template: KubeObject, said: Said | undefined, isWanted: boolean): ByRecord | undefined {
  if (said?.lists !== false || isWanted || !isCaredFor(template)) return undefined;
  return { verdict: "retire", because: "not-listed", tool: said.tool };
}

/** A retired, not Terminating template that its settled owner lists again was adopted without a trace, as Helm does. */
export function unretireByRecord(said: Said | undefined): ByRecord | undefined {
  return said?.lists === true ? { verdict: "unretire", because: "listed", tool: said.tool } : undefined;
}

/**
 * What stands against a deletion that would be ours. Where only a record says that the template is retired, it must still
 * say so. Where a deletion was asked for, a record that is gone is no objection: its owner is gone too.
 */
export function waitForRecord(template: KubeObject, said: Said | undefined): ByRecord | undefined {
  if (said?.lists === false) return undefined;
  const by = annotation(template, RETIRED_BY);
  if (by === undefined && (said === undefined || said.reason === "no-record")) return undefined;
  return { verdict: "wait", because: "owner-unknown", reason: said?.reason ?? `the record of ${by} is not read` };
}
