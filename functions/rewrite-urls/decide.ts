import type { Graph } from "../../shared/graph/graph.ts";
import { clusterState } from "../../shared/graph/owning-clusters.ts";
import { ANY_KIND } from "../../shared/graph/references.ts";
import type { Facts } from "../../shared/look/facts.ts";
import { annotation, DELETE_FOR_MOVE, isOptedOut, label, TOPOLOGY_OWNED } from "../../shared/marks/marks.ts";
import { CORE, isTemplateKind } from "../../shared/objects/kinds.ts";
import { type GroupKind, isTerminating, type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { canCarry, carriersOf, isControlPlane, METAL3_MACHINE } from "./carriers.ts";
import { standingOf } from "./contest.ts";
import { type Findings, findIn, type UrlChange } from "./findings.ts";
import { BARE_METAL_HOST, type Hosts, imageIsStillOpen } from "./hosts.ts";
import { matchUrl, type Rules, rulesIn } from "./rules.ts";

/** What decides about URLs: the facts about templates, and the hosts of the same look. */
export interface UrlFacts extends Facts {
  readonly hosts: Hosts;
}

/** Why a URL that a rule takes stays as it is. */
export type Refusal =
  | "control-plane-inline" // changing it rolls machines
  | "topology-owned" // the topology controller would rotate it and roll machines with the old URL
  | "class-template" // likewise, through the ClusterClass
  | "immutable"
  | "inside-text"
  | "loop" // the rules would take the new URL again
  | "unreadable-kind" // something that bears on it could not be read
  | "contested"; // someone puts the old URL back each time

/** What becomes of the URLs of one object. Values are as they stand in it: mask their user info before showing them. */
export type Decision =
  | { readonly verdict: "leave"; readonly because: "no-match" | "off-limits" | "opted-out" | "image-settled" }
  | { readonly verdict: "rewrite"; readonly because: "matches-rule"; readonly changes: readonly UrlChange[] }
  | { readonly verdict: "wait"; readonly because: "cluster-paused"; readonly changes: readonly UrlChange[] }
  | {
      readonly verdict: "refuse";
      readonly because: Refusal;
      /** Where the URLs or host names stand. */
      readonly paths: readonly string[];
      readonly reason?: string;
    };

/** A decision with the object it is about. */
export interface Decided {
  readonly object: ObjectKey;
  readonly decision: Exclude<Decision, { readonly verdict: "leave" }>;
}

/**
 * Decides about every one of `objects`, without those that are left alone; an object can have a rewrite and, for other
 * places in it, a refusal because `inside-text`. `objects` must be whole.
 */
export function decideAll(
  objects: readonly KubeObject[],
  facts: UrlFacts,
  rules: Rules,
  now: Temporal.Instant,
): readonly Decided[] {
  return objects.flatMap((object) =>
    [decide(object, facts, rules, now), decideText(object, facts.graph, rules)].flatMap((decision) =>
      decision.verdict === "leave" ? [] : [{ object: keyOf(object), decision }],
    ),
  );
}

/** Decides about the whole URLs of one object. `object` may be newer than the facts. */
export function decide(object: KubeObject, facts: UrlFacts, rules: Rules, now: Temporal.Instant): Decision {
  const key = keyOf(object);
  const found = findIn(object, rules);
  const never = decideNever(object, found, facts.graph);
  if (never !== undefined) return never;
  const { changes } = found;
  if (changes.length === 0) return { verdict: "leave", because: "no-match" };
  const refuse = (because: Refusal, reason?: string): Decision => refusal(because, changes.map(pathOf), reason);
  const { clusters, paused } = clusterState(object, facts.graph);
  const unread = facts.unread.find((kind) => bearsOn(kind, key, clusters.length > 0));
  if (unread !== undefined) return refuse("unreadable-kind", `${unread.kind}: ${unread.reason}`);
  if (isMetal3Machine(key) && (isTerminating(object) || !imageIsStillOpen(object, facts.hosts))) {
    return { verdict: "leave", because: "image-settled" };
  }
  const here = rulesIn(key.namespace, rules);
  const again = changes.filter(({ to }) => matchUrl(to, here) !== undefined);
  if (again.length > 0) return refusal("loop", again.map(pathOf));
  if (paused) return { verdict: "wait", because: "cluster-paused", changes };
  const { state } = standingOf(object, changes, rules, now);
  if (state === "stops" || state === "stopped") return refuse("contested");
  return { verdict: "rewrite", because: "matches-rule", changes };
}

/** Decides about what stands inside scripts, files and other texts of an object that may change: it is only reported. */
export function decideText(object: KubeObject, graph: Graph, rules: Rules): Decision {
  const found = findIn(object, rules);
  const never = decideNever(object, found, graph);
  if (never !== undefined || found.mentions.length === 0) return { verdict: "leave", because: "no-match" };
  return refusal("inside-text", found.mentions);
}

/** Objects that no rule may ever change, in the order in which the reasons weigh. */
function decideNever(object: KubeObject, { changes, mentions }: Findings, graph: Graph): Decision | undefined {
  const key = keyOf(object);
  const paths = [...changes.map(pathOf), ...mentions];
  if (!canCarry(key) || paths.length === 0) return { verdict: "leave", because: "no-match" };
  if (annotation(object, DELETE_FOR_MOVE) !== undefined) return { verdict: "leave", because: "off-limits" };
  if (isOptedOut(object)) return { verdict: "leave", because: "opted-out" };
  if (isControlPlane(key)) return refusal("control-plane-inline", paths);
  if (label(object, TOPOLOGY_OWNED) !== undefined) return refusal("topology-owned", paths);
  if (isTemplateKind(key) && isInClass(key, graph)) return refusal("class-template", paths);
  return carriersOf(key).length === 0 ? refusal("immutable", paths) : undefined;
}

function isInClass(key: ObjectKey, graph: Graph): boolean {
  return graph.referrersOf(key).some(({ referrer }) => referrer.group === CORE && referrer.kind === "ClusterClass");
}

/**
 * Whether what could not be read might forbid the change: its host, a class that names it, its Cluster's pause, and
 * where no Cluster is known, any referrer that might tell of one.
 */
function bearsOn({ group, kind }: GroupKind, key: ObjectKey, isClusterKnown: boolean): boolean {
  if (group === BARE_METAL_HOST.group) return isMetal3Machine(key);
  if (!isClusterKnown) return true;
  return group === CORE && (kind === ANY_KIND || kind === "Cluster" || kind === "ClusterClass");
}

function isMetal3Machine({ group, kind }: GroupKind): boolean {
  return group === METAL3_MACHINE.group && kind === METAL3_MACHINE.kind;
}

function refusal(because: Refusal, paths: readonly string[], reason?: string): Decision {
  return { verdict: "refuse", because, paths: [...new Set(paths)], ...(reason !== undefined && { reason }) };
}

function pathOf({ path }: UrlChange): string {
  return path;
}
