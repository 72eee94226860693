import { ClusterError } from "../cluster/cluster.ts";
import type { Facts } from "../look/facts.ts";
import { type KubeObject, keyOf, keyText } from "../objects/object.ts";
import { decideComesBack } from "./comes-back.ts";
import type { Context } from "./context.ts";
import { type Copy, removeCopy } from "./copies.ts";
import { createFromCopy, giveBackManagedFields, lacksManagedFields } from "./recreate.ts";

/**
 * Finishes a job that a crash left between the copy and its removal, whatever step it fell between: creates the
 * object if a live read still needs it and nothing stands in its place, gives our own creation its managedFields back,
 * and removes the copy. Returns the object when it came back now.
 *
 * Throws ClusterError "unavailable" when it cannot be told whether the object is needed; the copy stays.
 */
export async function finishCopy(
  context: Context,
  copy: Copy,
  gather: () => Promise<Facts>,
): Promise<KubeObject | undefined> {
  const key = keyOf(copy.body);
  const live = await context.cluster.get(key);
  if (live !== undefined) {
    const isOurs = live.metadata.uid !== copy.body.metadata.uid && lacksManagedFields(live);
    if (isOurs) await giveBackManagedFields(context, live, copy.body);
    await removeCopy(context, key);
    return undefined;
  }
  const facts = await gather();
  const decision = decideComesBack(copy.body, facts);
  if (decision.verdict === "unknown") throw new ClusterError("unavailable", `${keyText(key)}: ${decision.reason}`);
  if (decision.verdict === "leave") {
    await removeCopy(context, key);
    return undefined;
  }
  const isWanted = facts.wantedBy(key).length > 0;
  return createFromCopy(context, { ...copy, as: isWanted ? copy.as : "retired" });
}
