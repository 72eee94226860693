import type { Context } from "../../shared/acts/context.ts";
import { tell } from "../../shared/acts/tell.ts";
import { type KubeObject, keyText } from "../../shared/objects/object.ts";
import type { ByRecord } from "./by-record.ts";
import type { Decision } from "./decide.ts";

const FEW = 3;

/** Tells people on the template why it stays; the other verdicts are told when they are carried out. */
export async function explain(context: Context, template: KubeObject, decision: Decision): Promise<void> {
  if (decision.verdict !== "keep") return;
  const by = fewOf(decision.by.map(keyText));
  const isContested = decision.because === "renew-contested";
  const why = "reason" in decision ? `${decision.because}: ${decision.reason}` : decision.because;
  const note = isContested
    ? `It is wanted, was renewed within the hour and is retired again: a tool deletes and recreates it. Needed by ${by}.`
    : `Its deletion waits (${why})${by === "" ? "" : `: ${by}`}.`;
  await tell(context, {
    regarding: template,
    type: isContested ? "Warning" : "Normal",
    reason: isContested ? "RenewContested" : "TemplateKept",
    action: "Collect",
    note: note.slice(0, 1000),
    // Who needs it changes with every machine; that it is needed does not.
    state: decision.because,
  });
}

function fewOf(names: readonly string[]): string {
  return names.length <= FEW ? names.join(", ") : `${names.slice(0, FEW).join(", ")} and others`;
}

/** Tells people on the template what the record of its owner made of it. */
export async function tellByRecord(
  context: Context,
  template: KubeObject,
  { verdict }: Exclude<ByRecord, { verdict: "wait" }>,
): Promise<void> {
  const [reason, action, note] =
    verdict === "retire"
      ? ["TemplateRetired", "Retire", "Its owner no longer lists it; it goes once nothing needs it any more."]
      : ["TemplateUnretired", "Unretire", "Its owner lists it again; it stays until its deletion is asked for anew."];
  await tell(context, { regarding: template, type: "Normal", reason, action, note });
}
