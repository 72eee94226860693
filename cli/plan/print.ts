import { clustersOf } from "../../shared/graph/owning-clusters.ts";
import type { Facts } from "../../shared/look/facts.ts";
import type { ObjectKey } from "../../shared/objects/object.ts";
import type { Planned } from "./decisions.ts";
import { type OwnersSay, ownerSentence } from "./owners.ts";
import { sentence, short } from "./sentences.ts";

/** The plan for people: a block per cluster, a line per decision with its reason. */
export function printed(
  planned: readonly Planned[],
  facts: Facts,
  unmoved: readonly ObjectKey[],
  owners: OwnersSay,
): string {
  const line = (one: Planned): string => lineOf(one, owners);
  const byCluster = Map.groupBy(planned, ({ object }) => {
    const live = facts.graph.get(object);
    const clusters = (live === undefined ? [] : clustersOf(live, facts.graph)).map(
      ({ namespace, name }) => `${namespace}/${name}`,
    );
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

function lineOf(planned: Planned, owners: OwnersSay): string {
  const { concern, object, decision } = planned;
  const said = owners(object);
  const owner = said === undefined ? "" : `; ${ownerSentence(said)}`;
  return `${decision.verdict.padEnd(8)}${short(object)}: ${sentence(planned)}${owner} (${concern})`;
}
