import type { Act, Context } from "../../shared/acts/context.ts";
import { tell } from "../../shared/acts/tell.ts";
import { failedWith } from "../../shared/cluster/cluster.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import type { Check, Checked } from "./check.ts";
import { isSettled, type Standing, standingOf } from "./contest.ts";
import { type Decision, decide, type UrlFacts } from "./decide.ts";
import { checkSentence, contestSentence, rejectionSentence, rewriteSentence } from "./explain.ts";
import { findIn, type UrlChange } from "./findings.ts";
import { REWRITE_CONTESTED, REWRITTEN_FROM, recordOf, rewrittenFrom } from "./record.ts";
import { matchUrl, type Rules, rulesIn } from "./rules.ts";
import { redact } from "./url.ts";
import { writeUrls } from "./write.ts";

/** What all objects of one event or sweep are settled with. */
export interface Terms {
  readonly facts: UrlFacts;
  readonly rules: Rules;
  /** Asks each URL once. */
  readonly check: Check;
}

/**
 * Decides about an object as it was just read and does what is due. Throws "conflict" when it has changed since.
 *
 * @param decided about this very object already
 */
export async function carryOut(
  context: Context,
  live: KubeObject,
  terms: Terms,
  decided?: Decision,
): Promise<Act | undefined> {
  const { facts, rules } = terms;
  const now = context.now();
  const decision = decided ?? decide(live, facts, rules, now);
  const standing = () => standingOf(live, findIn(live, rules).changes, rules, now);
  switch (decision.verdict) {
    case "rewrite":
      return rewrite(context, live, decision.changes, standing(), terms);
    case "refuse":
      return decision.because === "contested" ? giveWay(context, live, decision.paths, standing()) : undefined;
    case "leave":
      if (decision.because === "no-match" && isSettled(live, now)) {
        await context.cluster.patch(live, { metadata: { annotations: { [REWRITE_CONTESTED]: null } } });
      }
      return undefined;
    case "wait":
      return undefined;
    default:
      return decision satisfies never;
  }
}

/** What the servers say about each change. */
export function checkAll(
  object: KubeObject,
  changes: readonly UrlChange[],
  { rules, check }: Terms,
): Promise<readonly Checked[]> {
  const here = rulesIn(keyOf(object).namespace, rules);
  const asked = changes.flatMap((change) => {
    const match = matchUrl(change.from, here);
    return match === undefined ? [] : [check(change, match.rule)];
  });
  return Promise.all(asked);
}

async function rewrite(
  context: Context,
  live: KubeObject,
  changes: readonly UrlChange[],
  { mark }: Standing,
  terms: Terms,
): Promise<Act | undefined> {
  const checked = await checkAll(live, changes, terms);
  const stop = checked.find((one) => one.result === "refuse");
  if (stop !== undefined) return refuse(context, live, checkSentence(stop), stateOf(stop.because, changes));
  const annotations = {
    [REWRITTEN_FROM]: JSON.stringify(originals(live, changes)),
    [REWRITE_CONTESTED]: mark === undefined ? null : JSON.stringify(mark),
  };
  try {
    await writeUrls(context, live, changes, annotations);
  } catch (error) {
    // The server will say the same every time; the sweep asks again, and the event is not worth another try.
    if (!failedWith(error, "invalid", "forbidden")) throw error;
    return refuse(context, live, rejectionSentence(error.message), stateOf("rejected", changes));
  }
  const unanswered = checked.flatMap((one) => (one.result === "unanswered" ? [one.reason] : []));
  await tell(context, {
    regarding: live,
    type: unanswered.length === 0 ? "Normal" : "Warning",
    reason: "UrlsRewritten",
    action: "Rewrite",
    note: rewriteSentence(changes, unanswered),
    state: stateOf(unanswered.length === 0 ? "rewritten" : "unanswered", changes),
  });
  return act(live, "rewritten", "matches-rule");
}

/** The first URL of each path; a URL that its owner has set since counts as a new first one. */
function originals(live: KubeObject, changes: readonly UrlChange[]): Readonly<Record<string, string>> {
  const before = rewrittenFrom(live);
  const wrote = recordOf(live)?.wrote ?? {};
  const now = changes.map(({ path, from }) => {
    const first = before[path];
    return [path, first !== undefined && wrote[path] === from ? first : from];
  });
  return { ...before, ...Object.fromEntries(now) };
}

async function giveWay(
  context: Context,
  live: KubeObject,
  paths: readonly string[],
  { state, mark }: Standing,
): Promise<Act | undefined> {
  if (mark === undefined) return undefined;
  if (state === "stops") {
    await context.cluster.patch(live, { metadata: { annotations: { [REWRITE_CONTESTED]: JSON.stringify(mark) } } });
  }
  await tell(context, {
    regarding: live,
    type: "Warning",
    reason: "RewriteContested",
    action: "Rewrite",
    note: contestSentence(mark, paths),
    state: `${mark.by} since ${mark.stoppedAt}`,
  });
  return state === "stops" ? act(live, "contested", "contested") : undefined;
}

async function refuse(context: Context, live: KubeObject, note: string, state: string): Promise<undefined> {
  await tell(context, { regarding: live, type: "Warning", reason: "RewriteRefused", action: "Rewrite", note, state });
  return undefined;
}

/** What came of these changes, without what a server says in other words each time. */
function stateOf(outcome: string, changes: readonly UrlChange[]): string {
  return redact([outcome, ...changes.map(({ path, to }) => `${path} ${to}`)].join("\n"));
}

function act(live: KubeObject, done: string, because: string): Act {
  const key = keyOf(live);
  return { noun: isTemplateKind(key) ? "template" : "machine", done, object: key, because };
}
