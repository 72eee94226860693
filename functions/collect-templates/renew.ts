import type { Act, Context } from "../../shared/acts/context.ts";
import { type Copy, removeCopy, saveCopy } from "../../shared/acts/copies.ts";
import { bodyToCreate, createFromCopy } from "../../shared/acts/recreate.ts";
import { onObject } from "../../shared/acts/retry.ts";
import { tell } from "../../shared/acts/tell.ts";
import { type ClusterError, failedWith } from "../../shared/cluster/cluster.ts";
import type { Facts } from "../../shared/look/facts.ts";
import { otherFinalizers, RENEWED_AT, timestamp } from "../../shared/marks/marks.ts";
import { isTerminating, type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { decide } from "./decide.ts";
import { CONCERN, termsOf } from "./terms.ts";
import { UNRETIRED } from "./unretired.ts";

/**
 * Makes a retired template that is wanted again a live, unretired object. A Terminating one cannot be saved, so it is
 * replaced: a lasting copy, a dry run of the creation, the drop of the hold, the creation.
 */
export async function renew(context: Context, key: ObjectKey, facts: Facts): Promise<Act | undefined> {
  return onObject(context.cluster, key, async (live) => {
    if (decide(live, facts, termsOf(context)).verdict !== "renew") return undefined;
    const isDone = isTerminating(live) ? await replace(context, live) : await unretire(context, live);
    if (!isDone) return undefined;
    const note = "It was retired and is wanted again; it stays until its deletion is asked for anew.";
    await tell(context, { regarding: live, type: "Normal", reason: "TemplateRenewed", action: "Renew", note });
    return { noun: "template", done: "renewed", object: key, because: "wanted" };
  });
}

async function unretire({ cluster, now }: Context, live: KubeObject): Promise<boolean> {
  const annotations = { ...UNRETIRED.annotations, [RENEWED_AT]: timestamp(now()) };
  await cluster.patch(live, { metadata: { ...UNRETIRED, annotations } });
  return true;
}

async function replace(context: Context, live: KubeObject): Promise<boolean> {
  const copy: Copy = { concern: CONCERN, as: "renewed", body: live };
  await saveCopy(context, copy);
  const refusal = await refusalOf(context, live);
  if (refusal !== undefined) {
    await removeCopy(context, keyOf(live));
    const note = `It cannot be created again, so it stays Terminating and held: ${refusal.message}`;
    await tell(context, { regarding: live, type: "Warning", reason: "RenewRefused", action: "Renew", note });
    return false;
  }
  await context.cluster.patch(live, { metadata: { finalizers: otherFinalizers(live) } });
  return (await createFromCopy(context, copy)) !== undefined;
}

/** What the API server has against the creation. "already-exists" comes after admission and validation: all is well. */
async function refusalOf({ cluster, now }: Context, live: KubeObject): Promise<ClusterError | undefined> {
  try {
    await cluster.create(bodyToCreate(live, "renewed", [], now()), { dryRun: true });
    return undefined;
  } catch (error) {
    if (failedWith(error, "already-exists")) return undefined;
    if (failedWith(error, "invalid", "forbidden", "not-found")) return error;
    throw error;
  }
}
