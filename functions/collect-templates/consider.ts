import type { Act, Context } from "../../shared/acts/context.ts";
import { findCopy } from "../../shared/acts/copies.ts";
import { lacksManagedFields } from "../../shared/acts/recreate.ts";
import { onObject } from "../../shared/acts/retry.ts";
import { failedWith } from "../../shared/cluster/cluster.ts";
import { unlessForbidden } from "../../shared/cluster/unless-forbidden.ts";
import { wants } from "../../shared/graph/wanted.ts";
import { annotation, isOptedOut, isRetired, NEEDED_BY, UNNEEDED_SINCE } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";
import { type Decision, decideAlone, decideByWitness } from "./decide.ts";
import { explain } from "./explain.ts";
import { finish } from "./finish.ts";
import { recordOwner } from "./record.ts";
import { searchWitnesses } from "./search.ts";
import { termsOf } from "./terms.ts";
import { noteOf, provesNeed, witnessesNotedOn } from "./witness.ts";

/** What came of considering one template without a look at everything. */
export interface Considered {
  readonly act: Act | undefined;
  /** Nothing seen so far says that it stays: only a look can decide. */
  readonly takesLook: boolean;
}

const NOTHING_DUE: Considered = { act: undefined, takesLook: false };

/**
 * Considers a template that events name: a copy of it that was left is finished, one that is not retired costs its one
 * read, and a retired one for which a witness speaks stays, without a list.
 *
 * @param hints the objects of those events, as they were then
 */
export async function consider(context: Context, key: ObjectKey, hints: readonly KubeObject[]): Promise<Considered> {
  const live = await unlessForbidden(context.cluster.get(key));
  if (live === "forbidden") {
    context.log.warn({ template: keyText(key) }, "template cannot be read; add its provider's component");
    return NOTHING_DUE;
  }
  const act =
    live === undefined || lacksManagedFields(live) ? await finish(context, await findCopy(context, key)) : undefined;
  const isDue = live !== undefined && (isRetired(live) || isOptedOut(live));
  if (!isDue || decideAlone(live)?.verdict === "leave") return { act, takesLook: false };
  if (isOptedOut(live) || hasNews(context, live, hints)) return { act, takesLook: true };
  return { act, takesLook: !(await isVouchedFor(context, live, hints)) };
}

/** Whether it was itself that changed, and the record of its owner may say why, which no referrer can. */
function hasNews(context: Context, template: KubeObject, hints: readonly KubeObject[]): boolean {
  const own = keyText(keyOf(template));
  return recordOwner(context, template) !== undefined && hints.some((hint) => keyText(keyOf(hint)) === own);
}

async function isVouchedFor(context: Context, template: KubeObject, hints: readonly KubeObject[]): Promise<boolean> {
  const key = keyOf(template);
  const noted = witnessesNotedOn(template);
  // A spec that was switched back to the template wants it, which no machine can tell.
  const wanting = hints.filter((hint) => wants(hint) && provesNeed(hint, key)).map(keyOf);
  for (const candidate of [...wanting, ...noted]) {
    const witness = await unlessForbidden(context.cluster.get(candidate));
    if (witness === undefined || witness === "forbidden" || !provesNeed(witness, key)) continue;
    const decision = decideByWitness(template, candidate, wants(witness), termsOf(context));
    if (decision === undefined) return false;
    const at = noted.findIndex((one) => keyText(one) === keyText(candidate));
    await keepBy(context, template, decision, at === -1 ? [candidate, ...noted] : noted.slice(at));
    if (decision.because === "renew-contested") await explain(context, template, decision);
    return true;
  }
  const found = await searchWitnesses(context, key);
  const [best] = found;
  if (best === undefined) return false;
  const decision = decideByWitness(template, keyOf(best), wants(best), termsOf(context));
  if (decision === undefined) return false;
  await keepBy(context, template, decision, found.map(keyOf));
  if (noted.length === 0) await explain(context, template, decision);
  return true;
}

/** Brings its marks in line with a decision to keep it, and notes its witnesses. */
async function keepBy(
  context: Context,
  template: KubeObject,
  decision: Decision,
  witnesses: readonly ObjectKey[],
): Promise<void> {
  context.log.debug({ object: keyText(keyOf(template)), ...decision }, "decided by witness");
  const note = noteOf(witnesses);
  const mends = annotation(template, UNNEEDED_SINCE) !== undefined;
  if (!mends && note === annotation(template, NEEDED_BY)) return;
  const annotations = { [UNNEEDED_SINCE]: null, [NEEDED_BY]: note };
  try {
    const patch = async (live: KubeObject) => {
      if (isRetired(live)) await context.cluster.patch(live, { metadata: { annotations } });
    };
    await onObject(context.cluster, keyOf(template), patch, template);
  } catch (error) {
    // The note only saves the next event a search.
    if (mends || !failedWith(error, "invalid", "forbidden", "unavailable")) throw error;
    context.log.warn({ object: keyText(keyOf(template)), err: error }, "witnesses not noted");
  }
}
