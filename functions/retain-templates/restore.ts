import { decideComesBack } from "../../shared/acts/comes-back.ts";
import type { Act, Context } from "../../shared/acts/context.ts";
import { type Copy, findCopy, listCopies } from "../../shared/acts/copies.ts";
import { finishCopy } from "../../shared/acts/finish-copies.ts";
import { recreate } from "../../shared/acts/recreate.ts";
import { tell } from "../../shared/acts/tell.ts";
import { ClusterError, failedWith } from "../../shared/cluster/cluster.ts";
import type { Facts } from "../../shared/look/facts.ts";
import { lookAt } from "../../shared/look/shared-look.ts";
import { isOffLimits, isOptedOut } from "../../shared/marks/marks.ts";
import { groupKindText, type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";

const CONCERN = "retain-templates";
/** How many of those that need a template a note names. */
const NAMED = 3;

/**
 * Answers a template's delete event. The event only says where to look: that the template is gone and needed is read
 * from the cluster, and its body from the API server's own memory of the deletion.
 *
 * Throws ClusterError "unavailable" when it cannot be told whether the template is needed.
 */
export async function restore(context: Context, deleted: KubeObject): Promise<Act | undefined> {
  // Neither ever comes back, so nothing is read: the topology controller and clusterctl delete many.
  if (isOffLimits(deleted) || isOptedOut(deleted)) return undefined;
  const key = keyOf(deleted);
  if ((await context.cluster.get(key)) !== undefined) return finishRestore(context, key);
  const copy = await findCopy(context, key);
  // Whoever made a copy is creating the object again at this moment, or will at its next event or sweep.
  if (copy !== undefined) return copy.concern === CONCERN ? finishRestore(context, key) : undefined;
  const facts = await lookAt(context.cluster, key);
  const hint = decideComesBack(deleted, facts);
  if (hint.verdict === "unknown") throw new ClusterError("unavailable", `${keyText(key)}: ${hint.reason}`);
  if (hint.verdict === "leave") return undefined;
  return bringBack(context, deleted, hint.by, facts);
}

/** Finishes a restore of this template that was cut short, if there is one. */
export async function finishRestore(context: Context, key: ObjectKey): Promise<Act | undefined> {
  const copy = await findCopy(context, key);
  return copy === undefined || copy.concern !== CONCERN ? undefined : finish(context, copy);
}

/** Every restore that was cut short, with how to finish it. */
export async function unfinishedRestores(
  context: Context,
): Promise<ReadonlyMap<ObjectKey, () => Promise<Act | undefined>>> {
  const copies = await listCopies(context, CONCERN);
  return new Map(copies.map((copy) => [keyOf(copy.body), () => finish(context, copy)]));
}

async function finish(context: Context, copy: Copy): Promise<Act | undefined> {
  const restored = await finishCopy(context, copy, () => lookAt(context.cluster, keyOf(copy.body)));
  return restored && actOn(restored);
}

async function bringBack(
  context: Context,
  deleted: KubeObject,
  by: readonly ObjectKey[],
  facts: Facts,
): Promise<Act | undefined> {
  const body = await lastState(context, deleted);
  if (body === "expired") {
    await tellReferrers(context, keyOf(deleted), by, facts);
    return { noun: "template", done: "lost", object: keyOf(deleted), because: "expired" };
  }
  if (body === undefined || decideComesBack(body, facts).verdict !== "restore") return undefined;
  const restored = await recreate(context, { concern: CONCERN, as: "retired", body });
  if (restored === undefined) return undefined;
  const note = `It was deleted while needed by ${someOf(by)}; it goes once nothing needs it any more.`;
  const told = { regarding: restored, type: "Warning", reason: "TemplateRestored", action: "Restore" } as const;
  await tell(context, { ...told, note, state: "needed" });
  return actOn(restored);
}

async function lastState({ cluster }: Context, deleted: KubeObject): Promise<KubeObject | "expired" | undefined> {
  try {
    return await cluster.deleted(keyOf(deleted), deleted.metadata.resourceVersion ?? "");
  } catch (error) {
    if (failedWith(error, "expired")) return "expired";
    throw error;
  }
}

/** Tells one referrer of each kind: a thousand machines that need the same template need no thousand Events. */
async function tellReferrers(context: Context, lost: ObjectKey, by: readonly ObjectKey[], facts: Facts): Promise<void> {
  const note = `${keyText(lost)} was deleted and the API server no longer remembers it; create it again from its source. Needed by ${someOf(by)}.`;
  for (const referrer of new Map(by.toReversed().map((one) => [groupKindText(one), one])).values()) {
    const regarding = facts.graph.get(referrer);
    if (regarding !== undefined) {
      await tell(context, {
        regarding,
        type: "Warning",
        reason: "TemplateLost",
        action: "Restore",
        note,
        state: keyText(lost),
      });
    }
  }
}

function someOf(keys: readonly ObjectKey[]): string {
  return keys.slice(0, NAMED).map(keyText).join(", ");
}

function actOn(restored: KubeObject): Act {
  return { noun: "template", done: "restored", object: keyOf(restored), because: "needed" };
}
