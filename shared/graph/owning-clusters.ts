import { annotation, CLUSTER_NAME, label, PAUSED } from "../marks/marks.ts";
import { CORE, isTemplateKind } from "../objects/kinds.ts";
import { groupOf, isTerminating, type KubeObject, keyOf, keyText, type ObjectKey } from "../objects/object.ts";
import { isRecord, stringAt } from "../objects/path.ts";
import type { Graph } from "./graph.ts";

/** What the Clusters of an object say about it. None found is neither gone nor paused. */
export interface ClusterState {
  readonly clusters: readonly ObjectKey[];
  /** All of them are Terminating or no longer there. */
  readonly gone: boolean;
  /** Any one of them is paused, by `spec.paused` or by annotation. */
  readonly paused: boolean;
}

/**
 * The Clusters of an object: by ownerReferences, else the cluster-name label (for a referrer also its
 * `spec.clusterName`), else, for a template, those of its referrers.
 */
export function clustersOf(object: KubeObject, graph: Graph): readonly ObjectKey[] {
  const found = collect(object, graph, new Set());
  return [...new Map(found.map((key) => [keyText(key), key])).values()];
}

/** Reads the state of an object's Clusters from the graph. */
export function clusterState(object: KubeObject, graph: Graph): ClusterState {
  const clusters = clustersOf(object, graph);
  const live = clusters.map((key) => graph.get(key));
  return {
    clusters,
    gone: clusters.length > 0 && live.every((cluster) => cluster === undefined || isTerminating(cluster)),
    paused: live.some((cluster) => cluster !== undefined && isPaused(cluster)),
  };
}

/** Paused for its controllers: `spec.paused` of a Cluster, or the paused annotation on any object (CAPI util/annotations). */
export function isPaused(object: KubeObject): boolean {
  const inSpec = isRecord(object.spec) && object.spec.paused === true;
  return inSpec || annotation(object, PAUSED) !== undefined;
}

/** The Clusters that an object names itself, by ownerReferences, else by label, else (no template) by `spec.clusterName`. */
export function clustersNamedBy(object: KubeObject): readonly ObjectKey[] {
  const key = keyOf(object);
  if (isCluster(key)) return [key];
  const named = (name: string): ObjectKey => ({ group: CORE, kind: "Cluster", namespace: key.namespace, name });
  const owners = (object.metadata.ownerReferences ?? []).filter((owner) =>
    isCluster({ group: groupOf(owner.apiVersion), kind: owner.kind }),
  );
  if (owners.length > 0) return owners.map((owner) => named(owner.name));
  const name = label(object, CLUSTER_NAME) || (isTemplateKind(key) ? undefined : stringAt(object, "spec.clusterName"));
  return name ? [named(name)] : [];
}

function collect(object: KubeObject, graph: Graph, seen: Set<string>): readonly ObjectKey[] {
  const own = clustersNamedBy(object);
  const key = keyOf(object);
  if (own.length > 0 || !isTemplateKind(key) || seen.has(keyText(key))) return own;
  seen.add(keyText(key));
  return graph.referrersOf(key).flatMap(({ referrer }) => {
    const live = graph.get(referrer);
    return live === undefined ? [] : collect(live, graph, seen);
  });
}

function isCluster({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === CORE && kind === "Cluster";
}
