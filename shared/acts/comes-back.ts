import type { UnreadKind } from "../graph/doubts.ts";
import { clusterState } from "../graph/owning-clusters.ts";
import { ANY_KIND, mayRefer } from "../graph/references.ts";
import type { Facts } from "../look/facts.ts";
import { isOffLimits, isOptedOut } from "../marks/marks.ts";
import { CLUSTER, NAMESPACE } from "../objects/kinds.ts";
import { type GroupKind, type KubeObject, keyOf, type ObjectKey } from "../objects/object.ts";

/** Whether an object that is gone is to be created again. */
export type ComesBack =
  | { readonly verdict: "restore"; readonly because: "needed"; readonly by: readonly ObjectKey[] }
  | {
      readonly verdict: "leave";
      readonly because: "off-limits" | "opted-out" | "standing" | "unneeded" | "cluster-gone" | "namespace-gone";
    }
  /** Nothing that was read needs it, but something could not be read. */
  | { readonly verdict: "unknown"; readonly because: "unreadable-kind"; readonly reason: string };

/**
 * Decides about `body`, the last state of a template that is gone. Only a live object that refers to it brings it
 * back; never where its Clusters or its namespace are Terminating or gone, or where something stands under its name.
 */
export function decideComesBack(body: KubeObject, facts: Facts): ComesBack {
  const key = keyOf(body);
  if (isOffLimits(body)) return { verdict: "leave", because: "off-limits" };
  if (isOptedOut(body)) return { verdict: "leave", because: "opted-out" };
  if (facts.graph.get(key) !== undefined) return { verdict: "leave", because: "standing" };
  if (!facts.needed.has(key)) {
    return unreadUser(key, facts) ?? { verdict: "leave", because: "unneeded" };
  }
  // A list that failed shows no Cluster and no namespace either; they are not gone for that.
  const unread = facts.unread.find((kind) => isKind(kind, CLUSTER) || isKind(kind, NAMESPACE));
  if (unread !== undefined) return unknown(unread);
  if (facts.isNamespaceLeaving(key.namespace)) return { verdict: "leave", because: "namespace-gone" };
  if (clusterState(body, facts.graph).gone) return { verdict: "leave", because: "cluster-gone" };
  return { verdict: "restore", because: "needed", by: facts.needed.by(key) };
}

/** What could not be read and might need this key, itself or through a retired template that it may keep. */
function unreadUser(key: ObjectKey, { unread, doubtAbout }: Facts): ComesBack | undefined {
  const direct = unread.find((kind) => mayRefer(kind, key));
  if (direct !== undefined) return unknown(direct);
  const doubt = doubtAbout(key);
  if (doubt?.because !== "unreadable-kind") return undefined;
  return { verdict: "unknown", because: "unreadable-kind", reason: doubt.reason };
}

function unknown({ kind, reason }: UnreadKind): ComesBack {
  return { verdict: "unknown", because: "unreadable-kind", reason: `${kind}: ${reason}` };
}

function isKind(unread: GroupKind, { group, kind }: GroupKind): boolean {
  return unread.group === group && (unread.kind === kind || unread.kind === ANY_KIND);
}
