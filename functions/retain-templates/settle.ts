import type { Act, Context } from "../../shared/acts/context.ts";
import { onObject } from "../../shared/acts/retry.ts";
import { tell } from "../../shared/acts/tell.ts";
import {
  HOLD,
  hasHold,
  otherFinalizers,
  RETIRED_AT,
  RETIRED_LABEL,
  retiredSince,
  timestamp,
} from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { type Decision, decide } from "./decide.ts";

type Hold = Extract<Decision, { verdict: "hold" }>;

const ONCE_UNNEEDED = "A deletion of this template takes effect once no machine needs it any more.";
const NOTES: Readonly<Record<Hold["because"], string>> = {
  "not-held": ONCE_UNNEEDED,
  "argocd-tracked":
    "Argo CD does not prune this template; it goes when RETIRE_ORPHANS says so and no machine needs it.",
  "prune-option-taken": `${ONCE_UNNEEDED} Its source or a person sets sync options: Argo CD may wait for it when it prunes.`,
};

/**
 * Does what a template needs, if it is still there: the hold, or the record of a deletion asked for.
 *
 * @param seen the template as a list just showed it, to spare a read while nobody else writes it
 */
export async function settle(context: Context, key: ObjectKey, seen?: KubeObject): Promise<Act | undefined> {
  return onObject(context.cluster, key, (template) => carryOut(context, template), seen);
}

async function carryOut(context: Context, template: KubeObject): Promise<Act | undefined> {
  const { cluster, now } = context;
  const decision = decide(template);
  const act = (done: string): Act => ({ noun: "template", done, object: keyOf(template), because: decision.because });
  switch (decision.verdict) {
    case "leave":
      return undefined;
    case "hold": {
      await cluster.patch(template, { metadata: patchFor(template, decision) });
      const note = NOTES[decision.because];
      const type = decision.because === "prune-option-taken" ? "Warning" : "Normal";
      await tell(context, { regarding: template, type, reason: "TemplateHeld", action: "Hold", note });
      return act("held");
    }
    case "record": {
      const annotations = { [RETIRED_AT]: timestamp(retiredSince(template) ?? now()) };
      await cluster.patch(template, { metadata: { annotations, labels: { [RETIRED_LABEL]: "true" } } });
      return act("retired");
    }
    default:
      return decision satisfies never;
  }
}

/** The hold, or with our options, in one write, its end: what is pruned in between would hang a sync. */
function patchFor(template: KubeObject, decision: Hold): Record<string, unknown> {
  if (decision.because !== "argocd-tracked") return { finalizers: [...(template.metadata.finalizers ?? []), HOLD] };
  const { annotations } = decision;
  return { annotations, ...(hasHold(template) && { finalizers: otherFinalizers(template) }) };
}
