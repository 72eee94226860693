import { optionsTakenOff } from "../../shared/argocd-options.ts";
import type { Context } from "../../shared/context.ts";
import type { Facts } from "../../shared/facts.ts";
import { annotation, otherFinalizers, timestamp, UNNEEDED_SINCE } from "../../shared/marks.ts";
import { type KubeObject, keyText, type ObjectKey } from "../../shared/object.ts";
import { onObject } from "../../shared/retry.ts";
import type { Tally } from "../../shared/tally.ts";
import { type Decision, decide } from "./decide.ts";
import { explain } from "./explain.ts";
import { letGo } from "./let-go.ts";
import { renew } from "./renew.ts";
import { termsOf } from "./terms.ts";

/**
 * Decides each of these templates from one look and carries the decisions out; what comes of it, failures too, goes
 * into `tally`. `tellKept` also tells people on each template that stays why it does.
 */
export async function settle(
  context: Context,
  keys: readonly ObjectKey[],
  facts: Facts,
  tally: Tally,
  tellKept: boolean,
): Promise<void> {
  const letting: ObjectKey[] = [];
  for (const { group, kind, reason } of facts.unread) {
    context.log.warn({ group, kind, reason }, "kind cannot be read; what it may refer to stays");
    tally.count("unread-kinds");
  }
  for (const key of keys) {
    const template = facts.graph.get(key);
    if (template === undefined) continue;
    const decision = decide(template, facts, termsOf(context));
    if (decision.verdict === "leave") continue;
    context.log.info({ object: keyText(key), ...decision }, "decided");
    tally.count(decision.verdict);
    if (tellKept) await explain(context, template, decision);
    if (decision.verdict === "collect") letting.push(key);
    else if (decision.verdict === "renew") tally.done(await tally.try(keyText(key), () => renew(context, key, facts)));
    else await tally.try(keyText(key), () => keepMarks(context, key, facts, template));
  }
  await letGo(context, letting, facts, tally);
}

/** Brings the marks of a template that stays in line with its decision. */
async function keepMarks(context: Context, key: ObjectKey, facts: Facts, seen: KubeObject): Promise<void> {
  const { cluster } = context;
  const carryOut = async (live: KubeObject) => {
    const terms = termsOf(context);
    const patch = marksFor(live, decide(live, facts, terms), terms.now);
    if (patch !== undefined) await cluster.patch(live, { metadata: patch });
  };
  await onObject(cluster, key, carryOut, seen);
}

function marksFor(live: KubeObject, decision: Decision, now: Temporal.Instant): Record<string, unknown> | undefined {
  switch (decision.verdict) {
    case "keep":
      return annotation(live, UNNEEDED_SINCE) === undefined ? undefined : { annotations: { [UNNEEDED_SINCE]: null } };
    case "wait":
      if (decision.because !== "grace-period" || !decision.starts) return undefined;
      return { annotations: { [UNNEEDED_SINCE]: timestamp(now) } };
    case "release":
      return { finalizers: otherFinalizers(live), annotations: optionsTakenOff(live) ?? {} };
    default:
      return undefined;
  }
}
