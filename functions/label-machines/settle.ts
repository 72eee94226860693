import type { Act, Context } from "../../shared/acts/context.ts";
import { ClusterError, failedWith } from "../../shared/cluster/cluster.ts";
import { keyText, type ObjectKey } from "../../shared/objects/object.ts";
import { conclude, release } from "./act/conclude.ts";
import { type Done, labelAll } from "./act/label.ts";
import { logDecision } from "./act/log-decision.ts";
import { tellPending } from "./act/pending.ts";
import { unlabel } from "./act/unlabel.ts";
import { type Decision, decide, refusal } from "./decide.ts";
import { tellRefusal, tellWarnings, withdrawRefusal } from "./explain.ts";
import type { AdoptionFacts } from "./facts.ts";
import { gatherAdoption } from "./gather.ts";
import { serviceAccountOf } from "./survey/service-account.ts";

/** Rounds of look, decide, act: three for an adoption that was refused before, the rest for conflicts. */
const ROUNDS = 8;

/** `again`: something was written, so look again before anything else is decided. */
type Step = "again" | "finished";

type Label = Extract<Decision, { verdict: "label" }>;

/**
 * Brings one control plane as far as it goes now: looks, decides, does one step, and looks again, so that nothing is
 * done on the word of a write alone. Returns what was done.
 *
 * Throws ClusterError "unavailable" when others keep changing what it acts on, and whatever a read or write throws.
 */
export async function settle(context: Context, key: ObjectKey, isSweep: boolean): Promise<readonly Act[]> {
  const acts: Act[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const facts = await gatherAdoption(context.cluster, key, serviceAccountOf(context.settings));
    if (facts === undefined) return acts;
    const decision = decide(facts, context.now());
    logDecision(context.log, key, decision);
    try {
      const step = await carryOut(context, facts, decision, isSweep, (act) => acts.push(act));
      if (step === "finished" || context.settings.dryRun) return acts;
    } catch (error) {
      if (!failedWith(error, "conflict", "not-found")) throw error;
    }
  }
  throw new ClusterError("unavailable", `${keyText(key)} and its machines keep changing`);
}

async function carryOut(
  context: Context,
  facts: AdoptionFacts,
  decision: Decision,
  isSweep: boolean,
  done: Done,
): Promise<Step> {
  switch (decision.verdict) {
    case "leave":
      return "finished";
    case "adopted":
      if (await withdrawRefusal(context, facts.controlPlane)) return "again";
      await conclude(context, facts, done);
      return "finished";
    case "refuse":
      if (await tellRefusal(context, facts.controlPlane, decision, isSweep)) return "again";
      await unlabel(context, facts, done);
      return "finished";
    case "label":
      return carryOutLabel(context, facts, decision, isSweep, done);
    default:
      return decision satisfies never;
  }
}

async function carryOutLabel(
  context: Context,
  facts: AdoptionFacts,
  { because, withheld, warnings, differences }: Label,
  isSweep: boolean,
  done: Done,
): Promise<Step> {
  if (withheld.length > 0) return carryOut(context, facts, refusal(withheld, differences), isSweep, done);
  if (await withdrawRefusal(context, facts.controlPlane)) return "again";
  if (because !== "adoption-pending") {
    await tellWarnings(context, facts.controlPlane, warnings);
    await labelAll(context, facts, because, done);
    return "again";
  }
  if (!(await release(context, facts, done))) await tellPending(context, facts, isSweep);
  return "finished";
}
