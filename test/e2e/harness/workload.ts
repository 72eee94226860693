import type { Api } from "./api-types.ts";
import { cluster, clusterNameLabel, coreVersion, referenceTo } from "./capi-objects.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { BetaVersion } from "./crds.ts";
import { kubeconfigOf } from "./kubeconfig.ts";
import { metal3Cluster, metal3Machine } from "./metal3-objects.ts";
import { conditionOf, type KubeObject, refOf, valueAt } from "./objects.ts";
import { eventually } from "./wait.ts";

export interface WorkloadOptions {
  namespace: string;
  name: string;
  /** The version of Metal3's kinds that is served; v1beta1 by default. */
  metal3?: BetaVersion;
}

/** The kubeconfig Secret by which Cluster API reaches the workload cluster: here the same API server. */
function kubeconfigSecret(controlPlane: ControlPlane, namespace: string, name: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${name}-kubeconfig`, namespace, labels: { [clusterNameLabel]: name } },
    type: "cluster.x-k8s.io/secret",
    data: { value: Buffer.from(kubeconfigOf(controlPlane.server)).toString("base64") },
  };
}

/** A control-plane machine that nobody's control plane object owns; its node makes the cluster count as initialized. */
function firstMachine(namespace: string, clusterName: string, infrastructure: KubeObject): KubeObject {
  return {
    apiVersion: coreVersion,
    kind: "Machine",
    metadata: {
      name: infrastructure.metadata.name,
      namespace,
      labels: { [clusterNameLabel]: clusterName, "cluster.x-k8s.io/control-plane": "" },
    },
    spec: {
      clusterName,
      bootstrap: { dataSecretName: `${infrastructure.metadata.name}-bootstrap` },
      infrastructureRef: referenceTo(infrastructure),
    },
  };
}

async function provisionInfrastructure(api: Api, infrastructure: KubeObject): Promise<void> {
  const isV1beta1 = infrastructure.apiVersion.endsWith("/v1beta1");
  await api.patchStatus(refOf(infrastructure), isV1beta1 ? { ready: true } : { initialization: { provisioned: true } });
}

/**
 * Makes a namespace with a cluster of Sylva's shape: Metal3Cluster, Cluster, kubeconfig Secret and one control-plane machine,
 * and waits until Cluster API's core manager calls the control plane initialized. That manager and the stand-in must run.
 */
export async function createWorkload(controlPlane: ControlPlane, options: WorkloadOptions): Promise<KubeObject> {
  const { namespace, name, metal3 = "v1beta1" } = options;
  const { api } = controlPlane;
  const { hostname, port } = new URL(controlPlane.url);
  const endpoint = { host: hostname, port: Number(port) };
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await api.create(kubeconfigSecret(controlPlane, namespace, name));
  const infrastructure = await api.create(metal3Cluster(namespace, name, endpoint, metal3));
  await provisionInfrastructure(api, infrastructure);
  const created = await api.create(cluster(name, infrastructure, endpoint));
  const host = await api.create(metal3Machine(namespace, `${name}-cp-0`, metal3));
  await api.create(firstMachine(namespace, name, host));
  return eventually(`the control plane of ${namespace}/${name} to be initialized`, async () => {
    const current = await api.get(refOf(created));
    return conditionOf(current, "ControlPlaneInitialized")?.status === "True" ? current : undefined;
  });
}

/** Whether every MachineSet but the one with the deployment's templates has given up its machines. */
async function isLastOfItsSets(api: Api, deployment: KubeObject): Promise<boolean> {
  const { name, namespace = "" } = deployment.metadata;
  const labelSelector = `cluster.x-k8s.io/deployment-name=${name}`;
  const sets = await api.list({ apiVersion: coreVersion, kind: "MachineSet", namespace, labelSelector });
  const refs = (object: KubeObject): string => {
    const spec = valueAt(object, "spec", "template", "spec");
    return JSON.stringify([valueAt(spec, "infrastructureRef"), valueAt(spec, "bootstrap", "configRef")]);
  };
  const others = sets.filter((set) => refs(set) !== refs(deployment));
  return others.every((set) => valueAt(set, "spec", "replicas") === 0 && valueAt(set, "status", "replicas") === 0);
}

/** Waits until a MachineDeployment has as many up-to-date, available machines as it wants, and no others, and returns it. */
export async function untilRolledOut(api: Api, deployment: KubeObject, timeoutMs = 120_000): Promise<KubeObject> {
  const ref = refOf(deployment);
  return eventually(
    `${ref.namespace}/${ref.name} to be rolled out`,
    async () => {
      const current = await api.get(ref);
      if (current === undefined) throw new Error("it is gone");
      const wanted = valueAt(current, "spec", "replicas");
      const counts = ["replicas", "upToDateReplicas", "availableReplicas"].map((count) =>
        valueAt(current, "status", count),
      );
      const isSeen = valueAt(current, "status", "observedGeneration") === current.metadata.generation;
      // Right after a change the deployment has seen it, but still counts the old machines as up to date.
      const isDone = isSeen && counts.every((count) => count === wanted) && (await isLastOfItsSets(api, current));
      if (isDone) return current;
      throw new Error(`status ${JSON.stringify(current.status)}`);
    },
    { timeoutMs },
  );
}
