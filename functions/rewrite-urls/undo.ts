import type { Context } from "../../shared/acts/context.ts";
import { onObject } from "../../shared/acts/retry.ts";
import type { Graph } from "../../shared/graph/graph.ts";
import { clusterState } from "../../shared/graph/owning-clusters.ts";
import { annotation, DELETE_FOR_MOVE, isOptedOut } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import type { UrlChange } from "./findings.ts";
import { REWRITE_CONTESTED, REWRITTEN_FROM, recordOf, rewrittenFrom } from "./record.ts";
import { stringsUnder } from "./strings.ts";
import { writeUrls } from "./write.ts";

/** What undoing means for one object. */
export type Undo =
  | { readonly verdict: "leave"; readonly because: "not-rewritten" | "off-limits" | "opted-out" }
  | { readonly verdict: "wait"; readonly because: "cluster-paused"; readonly changes: readonly UrlChange[] }
  /** `changes` is empty where someone has set other URLs since, and only our marks go. */
  | { readonly verdict: "rewrite"; readonly because: "undo"; readonly changes: readonly UrlChange[] };

/** Whether an object carries anything of ours; a record alone is what an undoing that was cut short leaves behind. */
export function wasRewritten(object: KubeObject): boolean {
  return annotation(object, REWRITTEN_FROM) !== undefined || recordOf(object) !== undefined;
}

/**
 * Decides about putting an object's URLs back as they were before us. A URL that is no longer the one we wrote was set
 * by someone since, and stays.
 */
export function decideUndo(object: KubeObject, graph: Graph): Undo {
  if (!wasRewritten(object)) return { verdict: "leave", because: "not-rewritten" };
  if (annotation(object, DELETE_FOR_MOVE) !== undefined) return { verdict: "leave", because: "off-limits" };
  if (isOptedOut(object)) return { verdict: "leave", because: "opted-out" };
  const before = rewrittenFrom(object);
  const wrote = recordOf(object)?.wrote ?? {};
  const changes = stringsUnder(object, "spec").flatMap(({ path, value }): readonly UrlChange[] => {
    const to = before[path];
    return to !== undefined && wrote[path] === value ? [{ path, from: value, to }] : [];
  });
  if (clusterState(object, graph).paused) return { verdict: "wait", because: "cluster-paused", changes };
  return { verdict: "rewrite", because: "undo", changes };
}

/** Every object that was rewritten, with what undoing means for it. */
export function decideUndoAll(
  objects: readonly KubeObject[],
  graph: Graph,
): readonly { readonly object: ObjectKey; readonly decision: Exclude<Undo, { readonly verdict: "leave" }> }[] {
  return objects.flatMap((object) => {
    const decision = decideUndo(object, graph);
    return decision.verdict === "leave" ? [] : [{ object: keyOf(object), decision }];
  });
}

/**
 * Puts the URLs of one object back and takes our marks off it; true when it did. While the rules stand, the next sweep
 * rewrites it again, so the rules go first.
 *
 * @param graph for whether its Cluster is paused
 */
export async function undo(context: Context, key: ObjectKey, graph: Graph): Promise<boolean> {
  const done = await onObject(context.cluster, key, async (live) => {
    const decision = decideUndo(live, graph);
    if (decision.verdict !== "rewrite") return false;
    await writeUrls(context, live, decision.changes, { [REWRITTEN_FROM]: null, [REWRITE_CONTESTED]: null });
    return true;
  });
  return done ?? false;
}
