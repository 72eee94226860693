import { type Cluster, failedWith } from "../../shared/cluster/cluster.ts";
import { CLUSTER_NAME, label } from "../../shared/marks/marks.ts";
import { CORE } from "../../shared/objects/kinds.ts";
import {
  type GroupKind,
  groupOf,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type OwnerReference,
} from "../../shared/objects/object.ts";
import type { AdoptionFacts, MachineFacts, TemplateFacts } from "./facts.ts";
import { isBefore1Dot12, TELLING_DEFINITION } from "./survey/capi-version.ts";
import { machinesOf } from "./survey/machines.ts";
import { membersOf } from "./survey/members.ts";
import { refAt, templateRefOf } from "./survey/read.ts";
import { secretStates } from "./survey/secrets.ts";

export const CLUSTER: GroupKind = { group: CORE, kind: "Cluster" };
const DEFINITION: GroupKind = { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" };

/**
 * Reads everything that bears on the adoption of the machines of this control plane's cluster; the control plane first,
 * so that a write to it conflicts when anything happened to it since. Undefined when it is not there.
 *
 * Throws a ClusterError where the Machines, configs or the Cluster cannot be read.
 *
 * @param serviceAccount who this function runs as, `namespace:name`
 */
export async function gatherAdoption(
  cluster: Cluster,
  key: ObjectKey,
  serviceAccount: string,
): Promise<AdoptionFacts | undefined> {
  const controlPlane = await cluster.get(key);
  if (controlPlane === undefined) return undefined;
  const owner = await findCluster(cluster, controlPlane);
  const clusterName = owner?.metadata.name ?? clusterNameOf(controlPlane) ?? "";
  return completed(cluster, { controlPlane, cluster: owner, clusterName, serviceAccount });
}

/** The rest of the facts, for a control plane that is there or only drafted. */
export async function completed(
  cluster: Cluster,
  known: Pick<AdoptionFacts, "controlPlane" | "cluster" | "clusterName" | "serviceAccount">,
): Promise<AdoptionFacts> {
  const { controlPlane, clusterName } = known;
  const { namespace = "" } = controlPlane.metadata;
  const facts: AdoptionFacts = {
    ...known,
    machines: clusterName === "" ? [] : await machinesOf(cluster, clusterName, namespace),
    template: await templateOf(cluster, controlPlane),
    secrets: clusterName === "" ? new Map() : await secretStates(cluster, clusterName, namespace),
    isCapiTooOld: isBefore1Dot12(await definition(cluster)),
  };
  const members = new Set(membersOf(facts).map(({ machine }) => machine));
  const machines: MachineFacts[] = [];
  for (const one of facts.machines) {
    const isMember = members.has(one.machine);
    machines.push(isMember ? { ...one, infrastructure: await infrastructureOf(cluster, one.machine) } : one);
  }
  return { ...facts, machines };
}

async function infrastructureOf(cluster: Cluster, machine: KubeObject): Promise<MachineFacts["infrastructure"]> {
  const ref = refAt(machine, "spec.infrastructureRef");
  if (ref === undefined) return undefined;
  try {
    return await cluster.get({ ...ref, namespace: machine.metadata.namespace ?? "" });
  } catch (error) {
    if (failedWith(error, "forbidden")) return "unreadable";
    throw error;
  }
}

async function templateOf(cluster: Cluster, controlPlane: KubeObject): Promise<TemplateFacts | undefined> {
  const ref = templateRefOf(controlPlane);
  if (ref === undefined) return undefined;
  const key: ObjectKey = { ...ref, namespace: controlPlane.metadata.namespace ?? "" };
  try {
    return { key, state: (await cluster.get(key)) === undefined ? "missing" : "there" };
  } catch (error) {
    if (failedWith(error, "forbidden")) return { key, state: "unreadable" };
    throw error;
  }
}

async function findCluster(cluster: Cluster, controlPlane: KubeObject): Promise<KubeObject | undefined> {
  const { group, kind, namespace, name } = keyOf(controlPlane);
  const named = clusterNameOf(controlPlane);
  if (named !== undefined) return cluster.get({ ...CLUSTER, namespace, name: named });
  return (await cluster.list(CLUSTER, { namespace })).find((one) => {
    const ref = refAt(one, "spec.controlPlaneRef");
    return ref?.group === group && ref.kind === kind && ref.name === name;
  });
}

/** The Cluster that a control plane says it belongs to. */
function clusterNameOf(controlPlane: KubeObject): string | undefined {
  const isCluster = ({ apiVersion, kind }: OwnerReference) =>
    kind === CLUSTER.kind && groupOf(apiVersion) === CLUSTER.group;
  return controlPlane.metadata.ownerReferences?.find(isCluster)?.name ?? label(controlPlane, CLUSTER_NAME);
}

async function definition(cluster: Cluster): Promise<KubeObject | undefined> {
  try {
    return await cluster.get({ ...DEFINITION, namespace: "", name: TELLING_DEFINITION });
  } catch (error) {
    if (failedWith(error, "forbidden", "not-found")) return undefined;
    throw error;
  }
}
