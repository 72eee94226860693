import type { Fields, KubeObject } from "../../e2e/harness/objects.ts";
import { controlPlane, core, metadataOf, metal3, ownedBy } from "./identity.ts";
import { clusterCount, clusterName, type Generation, joinSpec, rollingCount, templateName } from "./templates.ts";

const references = (cluster: number, generation: Generation) => ({
  infrastructureRef: {
    apiGroup: "infrastructure.cluster.x-k8s.io",
    kind: "Metal3MachineTemplate",
    name: templateName(cluster, generation),
  },
  bootstrap: {
    configRef: {
      apiGroup: "bootstrap.cluster.x-k8s.io",
      kind: "KubeadmConfigTemplate",
      name: templateName(cluster, generation),
    },
  },
});

/** A Cluster that was unpaused long ago. */
function cluster(index: number): KubeObject {
  const name = clusterName(index);
  return {
    apiVersion: core,
    kind: "Cluster",
    metadata: metadataOf("Cluster", core, name, { finalizers: ["cluster.cluster.x-k8s.io"] }),
    spec: {
      controlPlaneEndpoint: { host: "10.0.0.1", port: 6443 },
      controlPlaneRef: { apiGroup: "controlplane.cluster.x-k8s.io", kind: "KubeadmControlPlane", name },
      infrastructureRef: { apiGroup: "infrastructure.cluster.x-k8s.io", kind: "Metal3Cluster", name },
    },
    status: {
      conditions: [
        {
          type: "Paused",
          status: "False",
          reason: "NotPaused",
          message: "",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    },
  };
}

function infrastructure(index: number): KubeObject {
  const name = clusterName(index);
  return {
    apiVersion: metal3,
    kind: "Metal3Cluster",
    metadata: metadataOf("Metal3Cluster", metal3, name, { ownerReferences: [ownedBy(core, "Cluster", name)] }),
    spec: { controlPlaneEndpoint: { host: "10.0.0.1", port: 6443 }, cloudProviderEnabled: false },
  };
}

function kubeadmControlPlane(index: number): KubeObject {
  const name = clusterName(index);
  const { infrastructureRef } = references(index, "new");
  return {
    apiVersion: controlPlane,
    kind: "KubeadmControlPlane",
    metadata: metadataOf("KubeadmControlPlane", controlPlane, name, {
      labels: { "cluster.x-k8s.io/cluster-name": name },
      ownerReferences: [ownedBy(core, "Cluster", name)],
    }),
    spec: {
      replicas: 3,
      version: "v1.34.1",
      machineTemplate: { spec: { infrastructureRef } },
      kubeadmConfigSpec: joinSpec(index),
    },
  };
}

function template(index: number, generation: Generation): Fields {
  return { spec: { clusterName: clusterName(index), version: "v1.34.1", ...references(index, generation) } };
}

function selectorOf(index: number): Fields {
  return { matchLabels: { "cluster.x-k8s.io/deployment-name": `${clusterName(index)}-md` } };
}

function deployment(index: number): KubeObject {
  const name = `${clusterName(index)}-md`;
  return {
    apiVersion: core,
    kind: "MachineDeployment",
    metadata: metadataOf("MachineDeployment", core, name, {
      labels: { "cluster.x-k8s.io/cluster-name": clusterName(index) },
      ownerReferences: [ownedBy(core, "Cluster", clusterName(index), false)],
    }),
    spec: {
      clusterName: clusterName(index),
      replicas: 3,
      selector: selectorOf(index),
      template: template(index, "new"),
    },
  };
}

/** The MachineSet of a cluster in the middle of a rollout whose templates are retired. */
export function oldMachineSet(cluster: number): KubeObject {
  return machineSet(cluster, "old");
}

function machineSet(index: number, generation: Generation): KubeObject {
  return {
    apiVersion: core,
    kind: "MachineSet",
    metadata: metadataOf("MachineSet", core, templateName(index, generation), {
      labels: { "cluster.x-k8s.io/cluster-name": clusterName(index) },
      ownerReferences: [ownedBy(core, "MachineDeployment", `${clusterName(index)}-md`)],
    }),
    spec: {
      clusterName: clusterName(index),
      replicas: 3,
      selector: selectorOf(index),
      template: template(index, generation),
    },
  };
}

/** All 50 Clusters with their infrastructure, control plane, MachineDeployment and MachineSets. */
export function clusters(): readonly KubeObject[] {
  return Array.from({ length: clusterCount }, (_, index) => index).flatMap((index) => [
    cluster(index),
    infrastructure(index),
    kubeadmControlPlane(index),
    deployment(index),
    machineSet(index, "new"),
    ...(index < rollingCount ? [machineSet(index, "old")] : []),
  ]);
}
