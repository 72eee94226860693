import { isTerminating, type KubeObject } from "../objects/object.ts";

const PREFIX = "capi-caretaker.io/";

/** The hold: our finalizer on a template, after the pattern of Kubernetes' pvc-protection. */
export const HOLD = `${PREFIX}in-use`;
export const RETIRED_AT = `${PREFIX}retired-at`;
/** Beside `retired-at` where no deletion was asked for: whose record no longer lists it. */
export const RETIRED_BY = `${PREFIX}retired-by`;
export const UNNEEDED_SINCE = `${PREFIX}unneeded-since`;
export const RENEWED_AT = `${PREFIX}renewed-at`;
/** JSON: a few that were last seen to need it, to be asked before anything is listed. */
export const NEEDED_BY = `${PREFIX}needed-by`;
export const RETAIN = `${PREFIX}retain`;
/** A label beside `retired-at`, so that retired templates can be listed alone. */
export const RETIRED_LABEL = `${PREFIX}retired`;

/** The annotations that we set ourselves; `retain` and `adopt` are a person's. */
export const MARKS: readonly string[] = [
  RETIRED_AT,
  RETIRED_BY,
  UNNEEDED_SINCE,
  RENEWED_AT,
  NEEDED_BY,
  `${PREFIX}argocd-options`,
  `${PREFIX}rewritten-from`,
  `${PREFIX}rewrite-record`,
  `${PREFIX}rewrite-contested`,
  `${PREFIX}labelling`,
  `${PREFIX}adoption-refused`,
];

/** The field manager of every write; Flux strips annotations of managers named `kubectl…`, so never that. */
export const FIELD_MANAGER = "capi-caretaker";

/** Set by `clusterctl move` on what it deletes at the source (cmd/clusterctl/client/cluster/mover.go). */
export const DELETE_FOR_MOVE = "clusterctl.cluster.x-k8s.io/delete-for-move";
/** A label on objects that the topology controller creates and deletes by itself. */
export const TOPOLOGY_OWNED = "topology.cluster.x-k8s.io/owned";
export const CLUSTER_NAME = "cluster.x-k8s.io/cluster-name";
export const PAUSED = "cluster.x-k8s.io/paused";
export const CLONED_FROM_NAME = "cluster.x-k8s.io/cloned-from-name";
export const CLONED_FROM_GROUPKIND = "cluster.x-k8s.io/cloned-from-groupkind";

export function annotation(object: KubeObject, name: string): string | undefined {
  return object.metadata.annotations?.[name];
}

export function label(object: KubeObject, name: string): string | undefined {
  return object.metadata.labels?.[name];
}

export function hasHold(object: KubeObject): boolean {
  return object.metadata.finalizers?.includes(HOLD) ?? false;
}

/** Its finalizers but for the hold: what is left when we let go. */
export function otherFinalizers({ metadata }: KubeObject): string[] {
  return (metadata.finalizers ?? []).filter((finalizer) => finalizer !== HOLD);
}

/** Its owner asked for its deletion, now or before a restore or a move lost the deletionTimestamp. */
export function isRetired(object: KubeObject): boolean {
  return isTerminating(object) || annotation(object, RETIRED_AT) !== undefined;
}

/** A person opted this template out of all care. */
export function isOptedOut(object: KubeObject): boolean {
  return annotation(object, RETAIN) === "false";
}

/** Never written by any function: the topology controller's own templates, and what clusterctl deletes for a move. */
export function isOffLimits(object: KubeObject): boolean {
  return label(object, TOPOLOGY_OWNED) !== undefined || annotation(object, DELETE_FOR_MOVE) !== undefined;
}

/** The instant a mark (or a server's timestamp) holds; undefined where it is missing or no RFC 3339 time. */
export function instant(text: string | null | undefined): Temporal.Instant | undefined {
  if (!text) return undefined;
  try {
    return Temporal.Instant.from(text);
  } catch {
    return undefined;
  }
}

/** When its owner first asked for the deletion, as far as anything still says so. */
export function retiredSince(object: KubeObject): Temporal.Instant | undefined {
  return instant(annotation(object, RETIRED_AT)) ?? instant(object.metadata.deletionTimestamp);
}

/** RFC 3339 in UTC with whole seconds, as the API server writes its own timestamps. */
export function timestamp(at: Temporal.Instant): string {
  return at.toString({ smallestUnit: "second" });
}
