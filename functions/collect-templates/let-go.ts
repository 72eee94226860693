import { decideComesBack } from "../../shared/acts/comes-back.ts";
import type { Act, Context } from "../../shared/acts/context.ts";
import { type Copy, saveCopy } from "../../shared/acts/copies.ts";
import { recreate } from "../../shared/acts/recreate.ts";
import { onObject } from "../../shared/acts/retry.ts";
import type { Tally } from "../../shared/acts/tally.ts";
import { tell } from "../../shared/acts/tell.ts";
import { ClusterError } from "../../shared/cluster/cluster.ts";
import { type Facts, gatherFacts } from "../../shared/look/facts.ts";
import { HOLD, hasHold, otherFinalizers } from "../../shared/marks/marks.ts";
import { isTerminating, type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";
import { openRecords, type Records } from "../../shared/owners/records.ts";
import { decide } from "./decide.ts";
import { askRecord } from "./record.ts";
import { CONCERN, termsOf } from "./terms.ts";

/**
 * Lets unneeded templates go, all from the same looks at the cluster, however many they are: asks for the deletion of
 * those that only our mark says are retired, looks again, drops the holds, and looks once more whether a referrer came
 * in between; then the template comes back from the body in hand.
 */
export async function letGo(context: Context, keys: readonly ObjectKey[], facts: Facts, tally: Tally): Promise<void> {
  // The owner may have changed its mind since the decision.
  const records = openRecords(context.cluster);
  const asked = await eachOf(keys, tally, (key) => askForDeletion(context, key, facts, records));
  const looked = asked.length === 0 ? facts : await gatherFacts(context.cluster, { about: keys });
  const dropped = await eachOf(keys, tally, (key) => dropHold(context, key, looked));
  if (dropped.length === 0) return;
  const after = await tally.try("the look after letting go", () => gatherFacts(context.cluster, { about: keys }));
  for (const { body, isGone } of dropped) {
    tally.done(await tally.try(keyText(keyOf(body)), () => confirm(context, body, isGone, after)));
  }
}

async function eachOf<Result>(
  keys: readonly ObjectKey[],
  tally: Tally,
  act: (key: ObjectKey) => Promise<Result | undefined>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const key of keys) {
    const result = await tally.try(keyText(key), () => act(key));
    if (result !== undefined) results.push(result);
  }
  return results;
}

async function askForDeletion(
  context: Context,
  key: ObjectKey,
  facts: Facts,
  records: Records,
): Promise<true | undefined> {
  return onObject(context.cluster, key, async (live) => {
    const said = await askRecord(context, records, live);
    const isStillDue = decide(live, facts, termsOf(context), said).verdict === "collect";
    if (!isStillDue || isTerminating(live)) return undefined;
    // Without a hold it would be gone before we look again.
    const finalizers = [...otherFinalizers(live), HOLD];
    const held = hasHold(live) ? live : await context.cluster.patch(live, { metadata: { finalizers } });
    if (held === undefined) return undefined;
    await context.cluster.delete(held);
    return true;
  });
}

interface Dropped {
  readonly body: KubeObject;
  /** Nothing else holds it. */
  readonly isGone: boolean;
}

async function dropHold(context: Context, key: ObjectKey, facts: Facts): Promise<Dropped | undefined> {
  return onObject(context.cluster, key, async (live) => {
    const isStillDue = decide(live, facts, termsOf(context)).verdict === "collect";
    if (!isStillDue || !isTerminating(live)) return undefined;
    const left = await context.cluster.patch(live, { metadata: { finalizers: otherFinalizers(live) } });
    return { body: live, isGone: left === undefined };
  });
}

async function confirm(context: Context, body: KubeObject, isGone: boolean, after: Facts | undefined): Promise<Act> {
  const act = (done: string, because: string): Act => ({ noun: "template", done, object: keyOf(body), because });
  const copy: Copy = { concern: CONCERN, as: "retired", body };
  const comesBack = after === undefined ? undefined : decideComesBack(body, after);
  if (comesBack === undefined || comesBack.verdict === "unknown") {
    // Whether a referrer came in between stays open, so the body is kept until a later event or sweep can tell.
    await saveCopy(context, copy);
    throw new ClusterError("unavailable", `${keyText(keyOf(body))} was let go, and what refers to it cannot be read`);
  }
  if (comesBack.verdict === "restore" && isGone) {
    await recreate(context, copy);
    return act("restored", "needed");
  }
  const note = isGone ? "Nothing refers to it any more." : "Nothing refers to it any more; another finalizer holds it.";
  await tell(context, { regarding: body, type: "Normal", reason: "TemplateCollected", action: "Collect", note });
  return act(isGone ? "collected" : "released", comesBack.because);
}
