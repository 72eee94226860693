import { type Fields, groupOf, type KubeObject, type OwnerReference } from "./objects.ts";

export const coreVersion = "cluster.x-k8s.io/v1beta2";
export const bootstrapVersion = "bootstrap.cluster.x-k8s.io/v1beta2";
export const controlPlaneVersion = "controlplane.cluster.x-k8s.io/v1beta2";
export const clusterNameLabel = "cluster.x-k8s.io/cluster-name";

/** A reference as v1beta2 has it: group and kind, no version. */
export function referenceTo({ apiVersion, kind, metadata }: KubeObject): Fields {
  return { apiGroup: groupOf(apiVersion), kind, name: metadata.name };
}

/** An owner reference to an object as the server gave it back. */
export function ownedBy({ apiVersion, kind, metadata }: KubeObject, controller = false): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion, kind, name, uid, ...(controller ? { controller, blockOwnerDeletion: true } : {}) };
}

/** A Cluster whose infrastructure is the given object. */
export function cluster(
  name: string,
  infrastructure: KubeObject,
  endpoint: { host: string; port: number },
): KubeObject {
  const { namespace = "" } = infrastructure.metadata;
  return {
    apiVersion: coreVersion,
    kind: "Cluster",
    metadata: { name, namespace },
    spec: { controlPlaneEndpoint: endpoint, infrastructureRef: referenceTo(infrastructure) },
  };
}

export interface MachineDeploymentOptions {
  namespace: string;
  name: string;
  cluster: string;
  /** The object that `spec.template.spec.infrastructureRef` names. */
  infrastructure: KubeObject;
  bootstrap: KubeObject;
  /** 3 by default. */
  replicas?: number;
  /** 1 by default. */
  maxSurge?: number;
  /** 0 by default. */
  maxUnavailable?: number;
  version?: string;
}

/** A MachineDeployment with everything that Cluster API's webhook would have defaulted, since the suite runs without it. */
export function machineDeployment(options: MachineDeploymentOptions): KubeObject {
  const { namespace, name, cluster: clusterName, infrastructure, bootstrap, version } = options;
  const { replicas = 3, maxSurge = 1, maxUnavailable = 0 } = options;
  const labels = { [clusterNameLabel]: clusterName, "cluster.x-k8s.io/deployment-name": name };
  return {
    apiVersion: coreVersion,
    kind: "MachineDeployment",
    metadata: { name, namespace, labels: { [clusterNameLabel]: clusterName } },
    spec: {
      clusterName,
      replicas,
      rollout: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } } },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          clusterName,
          bootstrap: { configRef: referenceTo(bootstrap) },
          infrastructureRef: referenceTo(infrastructure),
          deletion: { nodeDeletionTimeoutSeconds: 10 },
          ...(version === undefined ? {} : { version }),
        },
      },
    },
  };
}

/** A KubeadmConfigTemplate for joining workers. */
export function kubeadmConfigTemplate(
  namespace: string,
  name: string,
  spec: Fields = { joinConfiguration: { nodeRegistration: { name: "{{ ds.meta_data.name }}" } } },
): KubeObject {
  return {
    apiVersion: bootstrapVersion,
    kind: "KubeadmConfigTemplate",
    metadata: { name, namespace },
    spec: { template: { spec } },
  };
}
