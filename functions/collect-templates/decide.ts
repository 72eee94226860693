import { type ClusterState, clusterState } from "../../shared/graph/owning-clusters.ts";
import type { Facts } from "../../shared/look/facts.ts";
import {
  annotation,
  hasHold,
  instant,
  isOffLimits,
  isOptedOut,
  isRetired,
  otherFinalizers,
  RENEWED_AT,
  retiredSince,
  UNNEEDED_SINCE,
} from "../../shared/marks/marks.ts";
import { isTerminating, type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { type ByRecord, isCaredFor, retireByRecord, type Said, unretireByRecord, waitForRecord } from "./by-record.ts";

type By = readonly ObjectKey[];

/** What becomes of a template whose owner asked for its deletion, or no longer lists it. */
export type Decision =
  | ByRecord
  | { readonly verdict: "leave"; readonly because: "off-limits" | "opted-out" | "not-retired" | "not-held" }
  /** A person opted the live template out: the hold and our options for Argo CD go, the template stays. */
  | { readonly verdict: "release"; readonly because: "opted-out" }
  | { readonly verdict: "keep"; readonly because: "needed" | "renew-contested" | "other-finalizer"; readonly by: By }
  | { readonly verdict: "keep"; readonly because: "referrer-terminating"; readonly by: By }
  | { readonly verdict: "keep"; readonly because: "unreadable-kind"; readonly by: By; readonly reason: string }
  | {
      readonly verdict: "keep";
      readonly because: "unreadable-reference";
      readonly by: By;
      readonly path: string;
      readonly reason: string;
    }
  | { readonly verdict: "wait"; readonly because: "cluster-paused" }
  | {
      readonly verdict: "wait";
      readonly because: "grace-period";
      readonly until: Temporal.Instant;
      readonly starts: boolean;
    }
  | { readonly verdict: "collect"; readonly because: "unneeded" | "cluster-gone" | "opted-out" }
  | { readonly verdict: "renew"; readonly because: "wanted"; readonly by: By };

/** What bears on a decision besides the cluster. */
export interface Terms {
  readonly now: Temporal.Instant;
  readonly collectGrace: Temporal.Duration;
  readonly renewAfter: Temporal.Duration;
}

// A tool that deletes and recreates at every turn would have us renew at every turn.
const CONTEST_WINDOW = Temporal.Duration.from({ hours: 1 });

/**
 * Decides about one template. `template` may be newer than the facts.
 *
 * @param said what the record of its owner says, undefined where it was not asked
 */
export function decide(template: KubeObject, facts: Facts, terms: Terms, said?: Said): Decision {
  const alone = decideAlone(template);
  if (alone !== undefined) return alone;
  const key = keyOf(template);
  const wantedBy = facts.wantedBy(key);
  if (!isRetired(template)) {
    return retireByRecord(template, said, wantedBy.length > 0) ?? { verdict: "leave", because: "not-retired" };
  }
  const again = isTerminating(template) ? undefined : unretireByRecord(said);
  if (again !== undefined) return again;
  const clusters = clusterState(template, facts.graph);
  if (wantedBy.length > 0) return decideWanted(template, wantedBy, clusters, facts, terms);
  if (facts.needed.has(key)) return { verdict: "keep", because: "needed", by: facts.needed.by(key) };
  const doubt = facts.doubtAbout(key);
  if (doubt !== undefined) return { verdict: "keep", ...doubt };
  const wait = isTerminating(template) ? undefined : waitForRecord(template, said);
  return wait ?? decideUnneeded(template, clusters, terms);
}

/** What a template decides by itself, whoever refers to it; undefined where that matters. */
export function decideAlone(template: KubeObject): Decision | undefined {
  if (isOffLimits(template)) return { verdict: "leave", because: "off-limits" };
  if (isOptedOut(template)) return decideOptedOut(template);
  return isTerminating(template) && !hasHold(template) ? { verdict: "leave", because: "not-held" } : undefined;
}

/**
 * What one live referrer, of which nothing else is known, decides about a retired template: it stays. Undefined where that
 * referrer may want it, and whether and how it is renewed takes a look.
 */
export function decideByWitness(
  template: KubeObject,
  witness: ObjectKey,
  mayWant: boolean,
  terms: Terms,
): Decision | undefined {
  if (mayWant) return decideTooEarly(template, [witness], terms);
  return { verdict: "keep", because: "needed", by: [witness] };
}

function decideOptedOut(template: KubeObject): Decision {
  if (isTerminating(template)) return { verdict: hasHold(template) ? "collect" : "leave", because: "opted-out" };
  return { verdict: isCaredFor(template) ? "release" : "leave", because: "opted-out" };
}

function decideWanted(
  template: KubeObject,
  wantedBy: By,
  clusters: ClusterState,
  { graph, needed }: Facts,
  terms: Terms,
): Decision {
  const by = needed.by(keyOf(template));
  const early = decideTooEarly(template, by, terms);
  if (early !== undefined) return early;
  if (!isTerminating(template)) return { verdict: "renew", because: "wanted", by: wantedBy };
  // From here on renewing means a moment without the template.
  if (clusters.paused) return { verdict: "wait", because: "cluster-paused" };
  const leaving = by.filter((referrer) => isTerminating(graph.get(referrer) ?? template));
  if (leaving.length > 0) return { verdict: "keep", because: "referrer-terminating", by: leaving };
  if (otherFinalizers(template).length > 0) {
    return { verdict: "keep", because: "other-finalizer", by };
  }
  return { verdict: "renew", because: "wanted", by: wantedBy };
}

/** A wanted template that was retired, or renewed, too short a time ago to be renewed. */
function decideTooEarly(template: KubeObject, by: By, { now, renewAfter }: Terms): Decision | undefined {
  const since = retiredSince(template);
  // A tool may delete the old template before it switches the specs; renewing at once would leave an orphan.
  if (since === undefined || isBefore(now, since.add(renewAfter))) return { verdict: "keep", because: "needed", by };
  const renewedAt = instant(annotation(template, RENEWED_AT));
  const isContested = renewedAt !== undefined && isBefore(since, renewedAt.add(CONTEST_WINDOW));
  return isContested ? { verdict: "keep", because: "renew-contested", by } : undefined;
}

function decideUnneeded(template: KubeObject, clusters: ClusterState, { now, collectGrace }: Terms): Decision {
  if (clusters.paused) return { verdict: "wait", because: "cluster-paused" };
  if (isTerminating(template)) return { verdict: "collect", because: "unneeded" };
  if (clusters.gone) return { verdict: "collect", because: "cluster-gone" };
  const since = unneededSince(template, now);
  const until = (since ?? now).add(collectGrace);
  if (isBefore(now, until)) return { verdict: "wait", because: "grace-period", until, starts: since === undefined };
  return { verdict: "collect", because: "unneeded" };
}

/** The running mark: one older than the object came along from another life of it (a backup, a move). */
function unneededSince(template: KubeObject, now: Temporal.Instant): Temporal.Instant | undefined {
  const mark = instant(annotation(template, UNNEEDED_SINCE));
  const born = instant(template.metadata.creationTimestamp);
  if (mark === undefined || isBefore(now, mark)) return undefined;
  return born !== undefined && isBefore(mark, born) ? undefined : mark;
}

function isBefore(a: Temporal.Instant, b: Temporal.Instant): boolean {
  return Temporal.Instant.compare(a, b) < 0;
}
