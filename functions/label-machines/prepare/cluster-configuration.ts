import { parse } from "yaml";
import type { KubeObject } from "../../../shared/objects/object.ts";
import { isRecord, stringAt } from "../../../shared/objects/path.ts";
import { grantingCommand } from "../checks/granting.ts";
import type { Reason } from "../facts.ts";
import type { Fields } from "../forecast/fields.ts";
import { convertClusterConfiguration } from "../forecast/kubeadm-spec.ts";

/** Fields that kubeadm's ClusterConfiguration and Cluster API's have in common. */
const COMMON = [
  "etcd",
  "apiServer",
  "controllerManager",
  "scheduler",
  "dns",
  "certificatesDir",
  "imageRepository",
  "featureGates",
  "encryptionAlgorithm",
];
const KEY = "ClusterConfiguration";

/** The ConfigMap in which a person gives the configuration that no KubeadmConfig carries. */
export function configMapName(clusterName: string): string {
  return `${clusterName}-kubeadm-config`;
}

/** That ConfigMap: undefined where nobody gave one, `unreadable` where it may not be read. */
export type GivenConfiguration = KubeObject | "unreadable" | undefined;

/** Reads kubeadm's ClusterConfiguration (v1beta3 or v1beta4) out of that ConfigMap; undefined where it holds none. */
export function readClusterConfiguration(configMap: GivenConfiguration): Fields | undefined {
  const text = typeof configMap === "object" ? stringAt(configMap, `data.${KEY}`) : undefined;
  if (text === undefined) return undefined;
  const read: unknown = parseOrNothing(text);
  if (!isRecord(read)) return undefined;
  const configuration = Object.fromEntries(
    COMMON.filter((field) => field in read).map((field) => [field, read[field]]),
  );
  convertClusterConfiguration(configuration);
  return configuration;
}

/** Says which ConfigMap a person must give. */
export function unknownConfiguration(clusterName: string, namespace: string): Reason {
  const name = configMapName(clusterName);
  const message =
    "No KubeadmConfig of the machines carries a clusterConfiguration. Copy the workload cluster's ConfigMap kubeadm-config " +
    `(namespace kube-system, key ${KEY}) to ConfigMap ${name} in namespace ${namespace} here. Machines whose own ` +
    "KubeadmConfig lacks it would be replaced after the adoption, so put it into those as well, or allow the rollout.";
  return {
    reason: "cluster-configuration-unknown",
    message,
    object: { group: "", kind: "ConfigMap", namespace, name },
  };
}

/** Says how to let the function read that ConfigMap; it may read no other. */
export function unreadableConfiguration(clusterName: string, namespace: string, serviceAccount: string): Reason {
  const name = configMapName(clusterName);
  const role = `capi-caretaker-${clusterName}-config`;
  const command = grantingCommand({ namespace, role, resource: "configmaps", names: [name], serviceAccount });
  return {
    reason: "cluster-configuration-unreadable",
    message: `ConfigMap ${name} in namespace ${namespace} cannot be read. To grant that: ${command}`,
    object: { group: "", kind: "ConfigMap", namespace, name },
  };
}

function parseOrNothing(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
