import type { Act, Context } from "../../shared/acts/context.ts";
import { onObject } from "../../shared/acts/retry.ts";
import type { Tally } from "../../shared/acts/tally.ts";
import type { Facts } from "../../shared/look/facts.ts";
import { optionsTakenOff } from "../../shared/marks/argocd-options.ts";
import {
  annotation,
  isRetired,
  NEEDED_BY,
  otherFinalizers,
  RETIRED_AT,
  RETIRED_BY,
  RETIRED_LABEL,
  timestamp,
  UNNEEDED_SINCE,
} from "../../shared/marks/marks.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";
import { openRecords } from "../../shared/owners/records.ts";
import type { Said } from "./by-record.ts";
import { type Decision, decide } from "./decide.ts";
import { explain, tellByRecord } from "./explain.ts";
import { letGo } from "./let-go.ts";
import { askRecord } from "./record.ts";
import { renew } from "./renew.ts";
import { termsOf } from "./terms.ts";
import { UNRETIRED } from "./unretired.ts";
import { byExpectedLife, noteOf } from "./witness.ts";

/**
 * Decides each of these templates from one look and carries the decisions out; what comes of it, failures too, goes
 * into `tally`.
 *
 * @param isAsked whether an event asked about a template: then people are told on it why it stays, and its witnesses are
 * noted anew
 */
export async function settle(
  context: Context,
  keys: readonly ObjectKey[],
  facts: Facts,
  tally: Tally,
  isAsked: (key: ObjectKey) => boolean,
): Promise<void> {
  const letting: ObjectKey[] = [];
  const records = openRecords(context.cluster);
  for (const { group, kind, reason } of facts.unread) {
    context.log.warn({ group, kind, reason }, "kind cannot be read; what it may refer to stays");
    tally.count("unread-kinds");
  }
  for (const key of keys) {
    const template = facts.graph.get(key);
    if (template === undefined) continue;
    const said = await askRecord(context, records, template);
    const decision = decide(template, facts, termsOf(context), said);
    if (decision.verdict === "leave") continue;
    context.log.info({ object: keyText(key), ...decision }, "decided");
    tally.count(decision.verdict);
    if (isAsked(key)) await explain(context, template, decision);
    if (decision.verdict === "collect") letting.push(key);
    else if (decision.verdict === "renew") tally.done(await tally.try(keyText(key), () => renew(context, key, facts)));
    else tally.done(await tally.try(keyText(key), () => keepMarks(context, template, facts, said, isAsked(key))));
  }
  await letGo(context, letting, facts, tally);
}

/** Brings the marks of a template that stays in line with its decision. */
async function keepMarks(
  context: Context,
  seen: KubeObject,
  facts: Facts,
  said: Said | undefined,
  isAsked: boolean,
): Promise<Act | undefined> {
  const { cluster } = context;
  const carryOut = async (live: KubeObject): Promise<Act | undefined> => {
    const terms = termsOf(context);
    const decision = decide(live, facts, terms, said);
    const patch = marksFor(live, decision, terms.now, facts, isAsked);
    if (patch === undefined) return undefined;
    await cluster.patch(live, { metadata: patch });
    if (decision.verdict !== "retire" && decision.verdict !== "unretire") return undefined;
    await tellByRecord(context, live, decision);
    return { noun: "template", done: `${decision.verdict}d`, object: keyOf(live), because: decision.because };
  };
  return onObject(cluster, keyOf(seen), carryOut, seen);
}

function marksFor(
  live: KubeObject,
  decision: Decision,
  now: Temporal.Instant,
  facts: Facts,
  isAsked: boolean,
): Record<string, unknown> | undefined {
  switch (decision.verdict) {
    case "keep":
      return keptMarks(live, decision.because === "needed" ? witnessesIn(facts, live) : [], isAsked);
    case "wait":
      if (decision.because !== "grace-period" || !decision.starts) return undefined;
      return { annotations: { [UNNEEDED_SINCE]: timestamp(now), [NEEDED_BY]: null } };
    case "release":
      return { finalizers: otherFinalizers(live), annotations: optionsTakenOff(live) ?? {} };
    case "retire":
      return {
        annotations: { [RETIRED_AT]: timestamp(now), [RETIRED_BY]: decision.tool },
        labels: { [RETIRED_LABEL]: "true" },
      };
    case "unretire":
      return UNRETIRED;
    default:
      return undefined;
  }
}

/** Those among its referrers that a later event can ask instead of looking. */
function witnessesIn({ graph, needed }: Facts, template: KubeObject): readonly ObjectKey[] {
  return needed
    .by(keyOf(template))
    .map((key) => graph.get(key))
    .filter((one) => one !== undefined)
    .filter((one) => !isTemplateKind(keyOf(one)) || !isRetired(one))
    .toSorted(byExpectedLife)
    .map(keyOf);
}

// A sweep leaves a note that is there as it is: whether those who stand in it still speak is asked when it matters.
function keptMarks(
  live: KubeObject,
  witnesses: readonly ObjectKey[],
  isAsked: boolean,
): Record<string, unknown> | undefined {
  const noted = annotation(live, NEEDED_BY);
  const note = noteOf(witnesses);
  const isNoteDue = witnesses.length > 0 && noted !== note && (isAsked || noted === undefined);
  if (annotation(live, UNNEEDED_SINCE) === undefined && !isNoteDue) return undefined;
  return { annotations: { [UNNEEDED_SINCE]: null, ...(isNoteDue && { [NEEDED_BY]: note }) } };
}
