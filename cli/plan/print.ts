import type { Facts } from "../../shared/facts.ts";
import { timestamp } from "../../shared/marks.ts";
import { keyOf, type ObjectKey } from "../../shared/object.ts";
import { clustersOf } from "../../shared/owning-clusters.ts";
import type { Planned } from "./decisions.ts";

/** The plan for people: a block per cluster, a line per decision with its reason. */
export function printed(planned: readonly Planned[], facts: Facts, unmoved: readonly ObjectKey[]): string {
  const byCluster = Map.groupBy(planned, ({ object }) => {
    const clusters = clustersOf(object, facts.graph).map(({ namespace, name }) => `${namespace}/${name}`);
    return clusters.length === 0 ? "no cluster" : clusters.join(", ");
  });
  const blocks = [...byCluster].map(([cluster, of]) => [cluster, ...of.map(line)].join("\n  "));
  return [
    ...(blocks.length === 0 ? ["Nothing to do."] : blocks),
    ...block(
      "References whose target does not exist",
      facts.graph.missing().map(({ referrer, path, target }) => `${short(referrer)} ${path} -> ${short(target)}`),
    ),
    ...block(
      "References that cannot be read",
      facts.graph.unreadable.map(({ referrer, path, reason }) => `${short(referrer)} ${path} ${reason}`),
    ),
    ...block(
      "Kinds that cannot be read",
      facts.unread.map(({ kind, group, reason }) => `${kind}.${group}: ${reason}`),
    ),
    ...block("Templates in use that clusterctl move would leave behind", unmoved.map(short)),
  ].join("\n\n");
}

function block(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [[title, ...lines].join("\n  ")];
}

function line({ concern, object, decision }: Planned): string {
  return `${decision.verdict.padEnd(8)}${short(keyOf(object))}: ${sentence(decision)} (${concern})`;
}

/** One decision's reason, as a person would say it. */
export function sentence(decision: Planned["decision"]): string {
  const by = "by" in decision && decision.by.length > 0 ? ` ${decision.by.map(short).join(", ")}` : "";
  switch (decision.because) {
    case "not-held":
      return "has no hold yet, so a deletion would take effect at once";
    case "deletion-requested":
      return "its deletion was asked for; that is noted on it";
    case "label-missing":
      return "is retired but lacks the label that says so";
    case "needed":
      return `retired, still needed by${by}`;
    case "renew-contested":
      return `wanted, but something retired it again within an hour of its renewal; needed by${by}`;
    case "other-finalizer":
      return `wanted, but another finalizer keeps it from being renewed; needed by${by}`;
    case "referrer-terminating":
      return `wanted; is renewed once these are gone:${by}`;
    case "unreadable-reference":
      return `may be meant by${by} at ${decision.path}, which ${decision.reason}`;
    case "unreadable-kind":
      return `may be needed by objects that cannot be read: ${decision.reason}`;
    case "cluster-paused":
      return "nothing needs it; waits while its Cluster is paused";
    case "grace-period":
      return `nothing needs it; goes after ${timestamp(decision.until)}`;
    case "unneeded":
      return "retired, and nothing needs it any more";
    case "cluster-gone":
      return "retired, and its Cluster is Terminating or gone";
    case "opted-out":
      return 'a person opted it out (retain: "false"), so its hold goes';
    case "wanted":
      return `retired, but wanted again by${by}`;
    default:
      return decision satisfies never;
  }
}

function short({ kind, namespace, name }: ObjectKey): string {
  return namespace === "" ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
