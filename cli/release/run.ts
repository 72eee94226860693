import { onObject } from "../../shared/acts/retry.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { clustersOf } from "../../shared/graph/owning-clusters.ts";
import { gatherFacts } from "../../shared/look/facts.ts";
import { CONTROL_PLANE, CORE, isTemplateKind } from "../../shared/objects/kinds.ts";
import { type GroupKind, isTerminating, type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { InputError } from "../../shared/setup/input-error.ts";
import type { Settings } from "../../shared/setup/settings.ts";
import { releasePatch } from "./decide.ts";
import type { Scope } from "./options.ts";
import { whatPutsBack } from "./putting-back.ts";

/**
 * Takes every hold and every mark of ours off the objects in scope, and counts. What was only kept by a hold goes with
 * it, as its owner asked. Safe to run again.
 *
 * Throws an InputError while something of ours still stands that would put the holds back; a ClusterError where the
 * cluster cannot be asked, with what was released up to then released.
 */
export async function release(
  cluster: Cluster,
  { ownNamespace }: Pick<Settings, "ownNamespace">,
  scope: Scope,
  write: (line: string) => void,
): Promise<void> {
  const standing = await whatPutsBack(cluster, ownNamespace);
  if (standing.length > 0) {
    throw new InputError(`these would put the holds back, delete them first: ${standing.join(", ")}`);
  }
  const facts = await gatherFacts(cluster);
  for (const { kind, group, reason } of facts.unread) write(`cannot be read: ${kind}.${group} (${reason})`);
  const counts = { released: 0, gone: 0, needed: 0 };
  for (const object of facts.graph.objects.filter((one) => carriesMarks(keyOf(one)) && isIn(scope, one, facts))) {
    const result = await releaseOne(cluster, object);
    if (result === undefined) continue;
    counts.released += 1;
    if (result === "stays") continue;
    counts.gone += 1;
    if (!facts.needed.has(keyOf(object))) continue;
    counts.needed += 1;
    write(`was still needed: ${keyText(keyOf(object))} (by ${facts.needed.by(keyOf(object)).map(keyText).join(", ")})`);
  }
  write(
    `${counts.released} objects released; ${counts.gone} were Terminating and are gone, ${counts.needed} of them still needed`,
  );
}

type Facts = Awaited<ReturnType<typeof gatherFacts>>;

function carriesMarks(kind: GroupKind): boolean {
  return isTemplateKind(kind) || kind.group === CONTROL_PLANE || (kind.group === CORE && kind.kind === "Cluster");
}

function isIn(scope: Scope, object: KubeObject, { graph }: Facts): boolean {
  const { namespace } = keyOf(object);
  if (scope.of === "all") return true;
  if (scope.namespace !== namespace) return false;
  return scope.of === "namespace" || clustersOf(object, graph).some(({ name }) => name === scope.name);
}

async function releaseOne(cluster: Cluster, seen: KubeObject): Promise<"gone" | "stays" | undefined> {
  const drop = async (live: KubeObject) => {
    const patch = releasePatch(live);
    if (patch === undefined) return undefined;
    const left = await cluster.patch(live, { metadata: patch });
    return left === undefined && isTerminating(live) ? "gone" : "stays";
  };
  return onObject(cluster, keyOf(seen), drop, seen);
}
