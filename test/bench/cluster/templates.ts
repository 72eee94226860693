import type { KubeObject, Metadata } from "../../e2e/harness/objects.ts";
import { hold, retiredAt, retiredLabel } from "../../e2e/scenario/marks.ts";
import { bootstrap, core, type GeneratedKind, metadataOf, metal3, ownedBy } from "./identity.ts";

export const clusterCount = 50;
/** These are in the middle of a rollout: half their machines are of an older generation, whose templates are retired. */
export const rollingCount = 25;

export type Generation = "new" | "old";

export const clusterName = (index: number): string => `c-${String(index).padStart(2, "0")}`;
export const templateName = (cluster: number, generation: Generation): string =>
  `${clusterName(cluster)}-${generation}`;

/** Where all images come from; the rules of the rewrite case take it. */
export const imageRoot = "http://10.10.10.17/";

function templateMetadata(kind: GeneratedKind, apiVersion: string, cluster: number, generation: Generation): Metadata {
  const when = "2026-06-01T00:00:00Z";
  const labels: Record<string, string> = {
    "cluster.x-k8s.io/cluster-name": clusterName(cluster),
    "app.kubernetes.io/managed-by": "Helm",
  };
  const annotations: Record<string, string> = {
    "meta.helm.sh/release-name": clusterName(cluster),
    "meta.helm.sh/release-namespace": "bench",
  };
  const isRetired = generation === "old";
  return metadataOf(kind, apiVersion, templateName(cluster, generation), {
    labels: { ...labels, ...(isRetired ? { [retiredLabel]: "true" } : {}) },
    annotations: { ...annotations, ...(isRetired ? { [retiredAt]: when } : {}) },
    finalizers: [hold],
    ownerReferences: [ownedBy(core, "Cluster", clusterName(cluster), false)],
    ...(isRetired ? { deletionTimestamp: when, deletionGracePeriodSeconds: 0, generation: 2 } : {}),
  });
}

/** The spec that a Metal3MachineTemplate gives to its machines. */
export function hostSpec(cluster: number) {
  return {
    automatedCleaningMode: "metadata",
    dataTemplate: { name: templateName(cluster, "new") },
    hostSelector: { matchLabels: { "cluster-role": "worker", cluster: clusterName(cluster) } },
    image: {
      url: `${imageRoot}images/node-${cluster}.qcow2`,
      checksum: `${imageRoot}images/node-${cluster}.qcow2.sha256sum`,
      checksumType: "sha256",
      format: "qcow2",
    },
  };
}

/** Commands and files of some length, as bootstrap configs have them. */
export function joinSpec(cluster: number) {
  return {
    joinConfiguration: {
      nodeRegistration: {
        name: "{{ ds.meta_data.name }}",
        kubeletExtraArgs: [{ name: "node-labels", value: `metal3.io/uuid={{ ds.meta_data.uuid }},cluster=${cluster}` }],
      },
    },
    preKubeadmCommands: ["systemctl enable --now containerd", "modprobe br_netfilter", "sysctl --system"],
    files: [{ path: "/etc/sysctl.d/90-node.conf", owner: "root:root", content: "vm.max_map_count=262144\n".repeat(8) }],
  };
}

/** A Metal3MachineTemplate of a generated cluster; that of the old generation is retired. */
export function machineTemplate(cluster: number, generation: Generation): KubeObject {
  return {
    apiVersion: metal3,
    kind: "Metal3MachineTemplate",
    metadata: templateMetadata("Metal3MachineTemplate", metal3, cluster, generation),
    spec: { nodeReuse: true, template: { spec: hostSpec(cluster) } },
  };
}

/** A KubeadmConfigTemplate of a generated cluster; that of the old generation is retired. */
export function configTemplate(cluster: number, generation: Generation): KubeObject {
  return {
    apiVersion: bootstrap,
    kind: "KubeadmConfigTemplate",
    metadata: templateMetadata("KubeadmConfigTemplate", bootstrap, cluster, generation),
    spec: { template: { spec: joinSpec(cluster) } },
  };
}

function dataTemplate(cluster: number): KubeObject {
  return {
    apiVersion: metal3,
    kind: "Metal3DataTemplate",
    metadata: templateMetadata("Metal3DataTemplate", metal3, cluster, "new"),
    spec: {
      clusterName: clusterName(cluster),
      metaData: { strings: [{ key: "cluster", value: clusterName(cluster) }] },
    },
  };
}

/** The 200 templates: three for each cluster, and two retired ones more for each that rolls. */
export function templates(): readonly KubeObject[] {
  const clusters = Array.from({ length: clusterCount }, (_, index) => index);
  return clusters.flatMap((cluster) => {
    const generations: readonly Generation[] = cluster < rollingCount ? ["new", "old"] : ["new"];
    const twins = generations.flatMap((one) => [machineTemplate(cluster, one), configTemplate(cluster, one)]);
    return [...twins, dataTemplate(cluster)];
  });
}
