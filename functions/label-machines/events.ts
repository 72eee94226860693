import type { Cluster } from "../../shared/cluster/cluster.ts";
import { unlessForbidden } from "../../shared/cluster/unless-forbidden.ts";
import { CLUSTER_NAME, label } from "../../shared/marks/marks.ts";
import { BOOTSTRAP, CONTROL_PLANE, CORE, isTemplateKind } from "../../shared/objects/kinds.ts";
import { type GroupKind, groupOf, type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { stringAt, valuesAt } from "../../shared/objects/path.ts";
import { CLUSTER } from "./gather.ts";
import { isOptedIn } from "./marks.ts";
import { MACHINE } from "./survey/machines.ts";
import { isLabelled } from "./survey/members.ts";
import { controllerOf, refAt } from "./survey/read.ts";

/** Any control plane that a person may mark, whoever provides it. */
export function isControlPlaneKind(kind: GroupKind): boolean {
  return kind.group === CONTROL_PLANE && !isTemplateKind(kind);
}

export function isClusterKind({ group, kind }: GroupKind): boolean {
  return group === CLUSTER.group && kind === CLUSTER.kind;
}

/**
 * The marked control plane or Cluster that an object's change bears on; undefined where none is marked. An ordinary
 * change of a worker's objects reads nothing, one of a control-plane machine its control plane alone.
 */
export async function concernedBy(cluster: Cluster, object: KubeObject): Promise<ObjectKey | undefined> {
  const key = keyOf(object);
  if (isControlPlaneKind(key)) return isOptedIn(object) ? key : undefined;
  if (isClusterKind(key)) return markedOf(cluster, object);
  if (key.group === CORE && key.kind === MACHINE.kind) return concernedByMachine(cluster, object);
  const isConfig = key.group === BOOTSTRAP && key.kind === "KubeadmConfig";
  return isConfig && showsMember(object) ? concernedByConfig(cluster, object) : undefined;
}

function showsMember(config: KubeObject): boolean {
  const telling = ["spec.clusterConfiguration", "spec.initConfiguration", "spec.joinConfiguration.controlPlane"];
  return isLabelled(config) || telling.some((path) => valuesAt(config, path).length > 0);
}

/** By its own label, else by the Machine that owns it, which the Machine controller sets. */
async function concernedByConfig(cluster: Cluster, config: KubeObject): Promise<ObjectKey | undefined> {
  const owner = config.metadata.ownerReferences?.find(({ kind }) => kind === MACHINE.kind);
  if (label(config, CLUSTER_NAME) !== undefined || owner === undefined) return byClusterName(cluster, config);
  const { namespace = "" } = config.metadata;
  const machine = await cluster.get({ ...MACHINE, namespace, name: owner.name });
  return machine && byClusterName(cluster, machine);
}

async function concernedByMachine(cluster: Cluster, machine: KubeObject): Promise<ObjectKey | undefined> {
  const controller = controllerOf(machine);
  if (controller === undefined) return byClusterName(cluster, machine);
  const { apiVersion, kind, name } = controller;
  const key: ObjectKey = { group: groupOf(apiVersion), kind, namespace: machine.metadata.namespace ?? "", name };
  return isControlPlaneKind(key) ? marked(cluster, key) : undefined;
}

async function byClusterName(cluster: Cluster, object: KubeObject): Promise<ObjectKey | undefined> {
  const name = stringAt(object, "spec.clusterName") ?? label(object, CLUSTER_NAME);
  if (name === undefined) return undefined;
  const owner = await cluster.get({ ...CLUSTER, namespace: object.metadata.namespace ?? "", name });
  return owner && markedOf(cluster, owner);
}

/** The Cluster itself where it is marked and names no control plane, else the control plane it names if that is. */
async function markedOf(cluster: Cluster, owner: KubeObject): Promise<ObjectKey | undefined> {
  const ref = refAt(owner, "spec.controlPlaneRef");
  if (ref !== undefined) return marked(cluster, { ...ref, namespace: owner.metadata.namespace ?? "" });
  return isOptedIn(owner) ? keyOf(owner) : undefined;
}

async function marked(cluster: Cluster, key: ObjectKey): Promise<ObjectKey | undefined> {
  const controlPlane = await unlessForbidden(cluster.get(key));
  return typeof controlPlane === "object" && isOptedIn(controlPlane) ? key : undefined;
}
