import type { Context, Outcome } from "../../shared/acts/context.ts";
import { onObject } from "../../shared/acts/retry.ts";
import type { Tally } from "../../shared/acts/tally.ts";
import { tell } from "../../shared/acts/tell.ts";
import { type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { carryOut, checkAll, type Terms } from "./carry-out.ts";
import { isSettled } from "./contest.ts";
import { type Decision, decide, decideText } from "./decide.ts";
import { refusalSentence } from "./explain.ts";
import { finishGivingBack, owesFields } from "./write.ts";

/**
 * Decides about each of these objects and carries the decisions out, after finishing what a crash left undone. What
 * fails does not stop the rest.
 *
 * Throws an AggregateError at the end when anything failed.
 */
export async function settle(
  context: Context,
  objects: readonly KubeObject[],
  terms: Terms,
  tally: Tally,
): Promise<Outcome> {
  const decided = objects.map((object) => ({
    object,
    decision: decide(object, terms.facts, terms.rules, context.now()),
  }));
  // All are asked beforehand, a few at once, or one dead server would hold each object up in turn.
  for (const { object, decision } of decided) {
    if (decision.verdict === "rewrite") void checkAll(object, decision.changes, terms);
  }
  for (const { object, decision } of decided) {
    const key = keyText(keyOf(object));
    if (decision.verdict !== "leave") tally.count(decision.verdict);
    await tally.try(key, async () => {
      if (owesFields(object)) await finishGivingBack(context, object);
      if (isWork(decision, object, context.now())) {
        const act = (live: KubeObject) => carryOut(context, live, terms, live === object ? decision : undefined);
        tally.done(await onObject(context.cluster, keyOf(object), act, object));
      }
    });
    await report(context, object, decision);
    await report(context, object, decideText(object, terms.facts.graph, terms.rules));
  }
  return tally.outcome();
}

function isWork(decision: Decision, object: KubeObject, now: Temporal.Instant): boolean {
  if (decision.verdict === "rewrite") return true;
  if (decision.verdict === "refuse") return decision.because === "contested";
  return decision.verdict === "leave" && isSettled(object, now);
}

/** Tells people on the object why a URL in it stays; what was contested or asked in vain is told where it is found. */
async function report(context: Context, object: KubeObject, decision: Decision): Promise<void> {
  if (decision.verdict !== "refuse" || decision.because === "contested") return;
  await tell(context, {
    regarding: object,
    type: "Warning",
    reason: "RewriteRefused",
    action: "Rewrite",
    note: refusalSentence(decision),
    state: [decision.because, ...decision.paths].join("\n"),
  });
}
