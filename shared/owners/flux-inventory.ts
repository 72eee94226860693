import { z } from "zod";
import type { Cluster } from "../cluster/cluster.ts";
import { isTerminating, type KubeObject, keyOf } from "../objects/object.ts";
import { isRecord } from "../objects/path.ts";
import { answer, type Lists, unknown } from "./answer.ts";
import type { Owner } from "./owner.ts";

/**
 * `<namespace>_<name>_<group>_<kind>`, where a name of an RBAC object has two underscores for each colon
 * (fluxcd/cli-utils pkg/object/objmetadata.go, ParseObjMetadata).
 */
const ID = /^[^_]*_(?:[^_]|__)+_[^_]*_[^_]+$/;

const Condition = z.looseObject({ type: z.string(), status: z.string(), observedGeneration: z.number().optional() });
const Status = z.looseObject({
  observedGeneration: z.number().optional(),
  conditions: z.array(Condition).optional(),
  inventory: z.looseObject({ entries: z.array(z.looseObject({ id: z.string().regex(ID) })).nullish() }).optional(),
});

/** What helm-controller says it deployed for a HelmRelease (`.status.inventory`, since 1.5.0). */
export function readHelmRelease(cluster: Cluster, owner: Owner): Promise<Lists> {
  return readInventory(cluster, owner, "helm.toolkit.fluxcd.io");
}

/** What kustomize-controller says it deployed for a Kustomization; what it may not prune leaves that for good. */
export function readKustomization(cluster: Cluster, owner: Owner): Promise<Lists> {
  return readInventory(cluster, owner, "kustomize.toolkit.fluxcd.io");
}

async function readInventory(cluster: Cluster, { kind, namespace = "", name }: Owner, group: string): Promise<Lists> {
  const owner = await cluster.get({ group, kind, namespace, name });
  if (owner === undefined) return unknown("no-record");
  const parsed = Status.safeParse(owner.status ?? {});
  if (!parsed.success) return unknown("corrupt");
  const unsettled = whyUnsettled(owner, parsed.data);
  if (unsettled !== undefined) return unknown(unsettled);
  const { inventory } = parsed.data;
  if (inventory === undefined) return unknown("no-inventory");
  const ids = new Set((inventory.entries ?? []).map(({ id }) => id));
  return (template) => answer(ids.has(idOf(template)));
}

function idOf(template: KubeObject): string {
  const { group, kind, namespace, name } = keyOf(template);
  return [namespace, name, group, kind].join("_");
}

/** An inventory is written with each attempt; only that of an owner which is Ready for its generation is final. */
function whyUnsettled(owner: KubeObject, { observedGeneration, conditions = [] }: z.infer<typeof Status>) {
  const { generation } = owner.metadata;
  const ready = conditions.find(({ type }) => type === "Ready");
  const spec = isRecord(owner.spec) ? owner.spec : {};
  if (isTerminating(owner)) return "terminating";
  // Then the inventory is of the cluster of that kubeconfig (helm-controller and kustomize-controller, spec.kubeConfig).
  if (spec.kubeConfig !== undefined && spec.kubeConfig !== null) return "for-another-cluster";
  if (spec.suspend === true) return "suspended";
  if (conditions.some(({ type, status }) => type === "Reconciling" && status === "True")) return "reconciling";
  if (ready?.status !== "True") return "not-ready";
  if (observedGeneration !== generation || (ready.observedGeneration ?? generation) !== generation) {
    return "stale-generation";
  }
  return undefined;
}
