import type { Api } from "../harness/api-types.ts";
import { clusterNameLabel, coreVersion, ownedBy, referenceTo } from "../harness/capi-objects.ts";
import { type Following, follow } from "../harness/follow.ts";
import { type Fields, type KubeObject, refOf, valueAt } from "../harness/objects.ts";
import { metal3Version } from "./caretakers.ts";

export const needyVersion = "controlplane.cluster.x-k8s.io/v1beta1";
export const needyKind = "RKE2ControlPlane";
const templateKind = "Metal3MachineTemplate";
const finalizer = "rke2.controlplane.cluster.x-k8s.io";

/** An RKE2ControlPlane of one machine. */
export function rke2ControlPlane(namespace: string, name: string, infrastructure: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = infrastructure;
  const infrastructureRef = { apiVersion, kind, name: metadata.name, namespace };
  const rolloutStrategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } };
  return {
    apiVersion: needyVersion,
    kind: needyKind,
    metadata: { name, namespace },
    spec: { replicas: 1, rolloutStrategy, machineTemplate: { infrastructureRef } },
  };
}

/** The machine of a control plane and what it is made of, cloned as Cluster API's contract asks for. */
async function createMachine(api: Api, controlPlane: KubeObject, template: KubeObject): Promise<void> {
  const { name, namespace = "", ownerReferences = [] } = controlPlane.metadata;
  const cluster = ownerReferences.find(({ kind }) => kind === "Cluster")?.name ?? name;
  const common = { name: `${name}-0`, namespace, ownerReferences: [ownedBy(controlPlane, true)] };
  const labels = { [clusterNameLabel]: cluster, "cluster.x-k8s.io/control-plane": "" };
  const infrastructure = await api.create({
    apiVersion: metal3Version,
    kind: "Metal3Machine",
    metadata: {
      ...common,
      labels,
      annotations: {
        "cluster.x-k8s.io/cloned-from-name": template.metadata.name,
        "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
      },
    },
    spec: valueAt(template, "spec", "template", "spec") as Fields,
  });
  await api.create({
    apiVersion: coreVersion,
    kind: "Machine",
    metadata: { ...common, labels },
    spec: {
      clusterName: cluster,
      bootstrap: { dataSecretName: `${name}-0` },
      infrastructureRef: referenceTo(infrastructure),
    },
  });
}

/** What such a controller does in one turn. Throws where it has to come again. */
async function reconcile(api: Api, controlPlane: KubeObject): Promise<void> {
  const { name, namespace = "", finalizers = [], deletionTimestamp, ownerReferences = [] } = controlPlane.metadata;
  const ref = refOf(controlPlane);
  if (deletionTimestamp === undefined && !finalizers.includes(finalizer)) {
    await api.mergePatch(ref, { metadata: { finalizers: [...finalizers, finalizer] } });
    return;
  }
  const templateName = String(valueAt(controlPlane, "spec", "machineTemplate", "infrastructureRef", "name"));
  const template = await api.get({ apiVersion: metal3Version, kind: templateKind, namespace, name: templateName });
  if (template === undefined) throw new Error(`failed to retrieve ${templateKind} ${templateName}: not found`);
  const machineRef = { apiVersion: coreVersion, kind: "Machine", namespace, name: `${name}-0` };
  const machine = await api.get(machineRef);
  if (deletionTimestamp !== undefined) return finish(api, controlPlane, machine);
  if (machine === undefined && ownerReferences.length > 0) await createMachine(api, controlPlane, template);
  if (valueAt(controlPlane, "status", "ready") !== true) await api.patchStatus(ref, { ready: true, initialized: true });
}

async function finish(api: Api, controlPlane: KubeObject, machine: KubeObject | undefined): Promise<void> {
  if (machine !== undefined) {
    await api.delete(refOf(machine));
    throw new Error(`Machine ${machine.metadata.name} is still there`);
  }
  const finalizers = (controlPlane.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  await api.mergePatch(refOf(controlPlane), { metadata: { finalizers } });
}

/**
 * Stands in for a control plane that reads its machine template at every turn, also at the last one: KubeadmControlPlane
 * 1.12.0 to 1.12.5 and RKE2ControlPlane were such (kubernetes-sigs/cluster-api#13536, rancher/cluster-api-provider-rke2#1004).
 * Without the template nothing goes on, the deletion neither.
 */
export function startNeedyControlPlanes(api: Api): Following {
  const following = follow(api, { apiVersion: needyVersion, kind: needyKind }, async ({ type, object }) => {
    if (type === "DELETED") return;
    // One that cannot go on must not keep the others waiting, so it is looked at again later.
    await reconcile(api, object).catch(() => setTimeout(() => following.again(), 500).unref());
  });
  return following;
}
