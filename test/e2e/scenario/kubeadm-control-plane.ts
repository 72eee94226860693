import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Api } from "../harness/api-types.ts";
import {
  bootstrapVersion,
  cluster,
  clusterNameLabel,
  controlPlaneVersion,
  coreVersion,
  referenceTo,
} from "../harness/capi-objects.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { follow } from "../harness/follow.ts";
import { kubeconfigOf } from "../harness/kubeconfig.ts";
import { metal3Cluster } from "../harness/metal3-objects.ts";
import { conditionOf, type Fields, type KubeObject, type ObjectRef, refOf, valueAt } from "../harness/objects.ts";
import { isInTheMaking } from "../harness/stand-in-machines.ts";
import { inTime } from "./patience.ts";

/** The label of the machines of a control plane. */
export const controlPlaneLabel = "cluster.x-k8s.io/control-plane";

const expiry = "machine.cluster.x-k8s.io/certificates-expiry";
const version = "v1.36.0";
const clusterConfiguration = { apiVersion: "kubeadm.k8s.io/v1beta4", kind: "ClusterConfiguration" };

export interface KubeadmControlPlaneOptions {
  namespace: string;
  name: string;
  infrastructure: KubeObject;
  /** What KubeadmControlPlane writes into every machine's config. */
  config?: Fields;
}

/**
 * A KubeadmControlPlane of one machine with everything its webhook would have defaulted. Its etcd is an external one, which
 * the controller does not ask for its health.
 */
export function kubeadmControlPlane(options: KubeadmControlPlaneOptions): KubeObject {
  const { namespace, name, infrastructure, config = {} } = options;
  const folder = "/etc/kubernetes/pki";
  const external = {
    endpoints: ["https://127.0.0.1:2379"],
    caFile: `${folder}/etcd/ca.crt`,
    certFile: `${folder}/apiserver-etcd-client.crt`,
    keyFile: `${folder}/apiserver-etcd-client.key`,
  };
  return {
    apiVersion: controlPlaneVersion,
    kind: "KubeadmControlPlane",
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      version,
      rollout: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } },
      machineTemplate: { spec: { infrastructureRef: referenceTo(infrastructure) } },
      kubeadmConfigSpec: { clusterConfiguration: { etcd: { external } }, ...config },
    },
  };
}

/** A Secret of a cluster that its owner brings along, which Cluster API's controllers leave alone. */
function secretOf(
  namespace: string,
  clusterName: string,
  purpose: string,
  content: Record<string, string>,
): KubeObject {
  const data = Object.entries(content).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
  const labels = { [clusterNameLabel]: clusterName };
  const metadata = { name: `${clusterName}-${purpose}`, namespace, labels };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data: Object.fromEntries(data) };
}

/**
 * Makes a namespace with a Cluster whose control plane is to be a KubeadmControlPlane of the same name.
 *
 * @param workload the control plane that plays the cluster itself
 */
export async function createKubeadmCluster(
  api: Api,
  workload: ControlPlane,
  { namespace, name }: { namespace: string; name: string },
): Promise<void> {
  const { hostname, port } = new URL(workload.url);
  const endpoint = { host: hostname, port: Number(port) };
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const [certificate = "", key = ""] = ["tls.crt", "tls.key"].map((file) =>
    readFileSync(join(workload.folder, file), "utf8"),
  );
  await api.create(secretOf(namespace, name, "kubeconfig", { value: kubeconfigOf(workload.server) }));
  await api.create(secretOf(namespace, name, "etcd", { "tls.crt": certificate }));
  const client = { "tls.crt": certificate, "tls.key": key };
  await api.create(secretOf(namespace, name, "apiserver-etcd-client", client));
  const infrastructure = await api.create(metal3Cluster(namespace, name, endpoint, "v1beta1"));
  await api.patchStatus(refOf(infrastructure), { ready: true });
  const { spec, ...rest } = cluster(name, infrastructure, endpoint);
  const controlPlaneRef = { apiGroup: "controlplane.cluster.x-k8s.io", kind: "KubeadmControlPlane", name };
  await api.create({ ...rest, spec: { ...spec, controlPlaneRef } });
}

/**
 * Does what kubeadm and the kubelets of control-plane machines leave in the workload cluster: its config and the static pods.
 * Nothing can be asked for its certificate there, so each machine's config says beforehand when it expires.
 */
export async function startKubelets(api: Api, workload: Api): Promise<void> {
  const data = { ClusterConfiguration: JSON.stringify(clusterConfiguration) };
  const metadata = { name: "kubeadm-config", namespace: "kube-system" };
  await workload.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data });
  const configKind = { apiVersion: bootstrapVersion, kind: "KubeadmConfig", labelSelector: controlPlaneLabel };
  follow(api, configKind, async ({ type, object }) => {
    if (type === "DELETED" || isInTheMaking(object) || object.metadata.annotations?.[expiry] !== undefined) return;
    await api.mergePatch(refOf(object), { metadata: { annotations: { [expiry]: "2099-01-01T00:00:00Z" } } });
  });
  const selection = { apiVersion: coreVersion, kind: "Machine", labelSelector: controlPlaneLabel };
  follow(api, selection, async ({ type, object }) => {
    const node = valueAt(object, "status", "nodeRef", "name");
    if (type === "DELETED" || typeof node !== "string") return;
    for (const component of ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]) {
      const pod: KubeObject = {
        apiVersion: "v1",
        kind: "Pod",
        // The controller sees only pods with the labels that kubeadm gives them.
        metadata: {
          name: `${component}-${node}`,
          namespace: "kube-system",
          labels: { component, tier: "control-plane" },
        },
        spec: { nodeName: node, containers: [{ name: component, image: component }] },
      };
      const ref = refOf(pod);
      if ((await workload.get(ref)) !== undefined) continue;
      await workload.create(pod);
      await workload.patchStatus(ref, { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
    }
  });
}

/** The machines of a cluster's control plane. */
export function controlPlaneMachines(api: Api, namespace: string): Promise<KubeObject[]> {
  return api.list({ apiVersion: coreVersion, kind: "Machine", namespace, labelSelector: controlPlaneLabel });
}

/**
 * Waits until a KubeadmControlPlane has as many machines as it wants, each with a node and healthy components. Their own
 * readiness asks for a label of the node that would make it a control-plane node of every cluster here.
 */
export async function untilControlPlaneRuns(api: Api, ref: ObjectRef): Promise<KubeObject> {
  return inTime(`the control plane ${ref.namespace}/${ref.name} to run`, async () => {
    const live = await api.get(ref);
    const wanted = valueAt(live, "spec", "replicas");
    const machines = await controlPlaneMachines(api, ref.namespace ?? "");
    const counts = [...["replicas", "upToDateReplicas"].map((one) => valueAt(live, "status", one)), machines.length];
    const isHealthy = (machine: KubeObject): boolean =>
      valueAt(machine, "status", "nodeRef", "name") !== undefined &&
      conditionOf(machine, "APIServerPodHealthy")?.status === "True";
    const isRunning = counts.every((count) => count === wanted) && machines.every(isHealthy);
    if (live !== undefined && isRunning && conditionOf(live, "Available")?.status === "True") return live;
    throw new Error(`status ${JSON.stringify(live?.status)}`);
  });
}
