import type { Api } from "../harness/api-types.ts";
import {
  clusterNameLabel,
  controlPlaneVersion,
  coreVersion,
  kubeadmConfigTemplate,
  machineDeployment,
  referenceTo,
} from "../harness/capi-objects.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { writeChart } from "../harness/helm.ts";
import { metal3Cluster, metal3MachineTemplate } from "../harness/metal3-objects.ts";
import { type KubeObject, type ObjectRef, refOf } from "../harness/objects.ts";
import { eventually } from "../harness/wait.ts";
import { metal3Version } from "./caretakers.ts";
import { rke2ControlPlane } from "./needy-control-plane.ts";

/** Without the braces of the usual node name, which Helm would take for its own. */
const joining = { joinConfiguration: { nodeRegistration: { criSocket: "unix:///run/containerd/containerd.sock" } } };
const endpoint = { host: "127.0.0.1", port: 6443 };

/** All that a chart of a whole cluster renders, by role. */
export interface WholeCluster {
  namespace: string;
  name: string;
  cluster: KubeObject;
  infrastructure: KubeObject;
  controlPlane: KubeObject;
  workers: KubeObject;
  /** Of the control plane's machine, of the workers' machines, of their bootstrap. */
  templates: KubeObject[];
}

/** A whole cluster: a control plane of one machine and a MachineDeployment of two. */
export function wholeCluster(
  namespace: string,
  name: string,
  controlPlaneOf: (namespace: string, name: string, template: KubeObject) => KubeObject = rke2ControlPlane,
): WholeCluster {
  const machines = (role: string): KubeObject =>
    metal3MachineTemplate({ namespace, name: `${name}-${role}`, version: "v1beta1" });
  const [ofControlPlane, ofWorkers] = [machines("cp"), machines("md")];
  const bootstrap = kubeadmConfigTemplate(namespace, `${name}-md`, joining);
  const infrastructure = metal3Cluster(namespace, name, endpoint, "v1beta1");
  const controlPlane = controlPlaneOf(namespace, name, ofControlPlane);
  const [infrastructureRef, controlPlaneRef] = [referenceTo(infrastructure), referenceTo(controlPlane)];
  const cluster: KubeObject = {
    apiVersion: coreVersion,
    kind: "Cluster",
    metadata: { name, namespace },
    spec: { controlPlaneEndpoint: endpoint, infrastructureRef, controlPlaneRef },
  };
  const workers = machineDeployment({
    namespace,
    name: `${name}-md`,
    cluster: name,
    replicas: 2,
    infrastructure: ofWorkers,
    bootstrap,
  });
  // A control plane that has no workload cluster never counts as stable, which workers would wait for.
  const annotations = { "machineset.cluster.x-k8s.io/skip-preflight-checks": "All" };
  workers.metadata.annotations = annotations;
  const templates = [ofControlPlane, ofWorkers, bootstrap];
  return { namespace, name, cluster, infrastructure, controlPlane, workers, templates };
}

/** A KubeadmControlPlane of one machine, with what its webhook would have defaulted. */
export function kubeadmControlPlane(namespace: string, name: string, infrastructure: KubeObject): KubeObject {
  return {
    apiVersion: controlPlaneVersion,
    kind: "KubeadmControlPlane",
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      version: "v1.36.3",
      rollout: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } },
      machineTemplate: { spec: { infrastructureRef: referenceTo(infrastructure) } },
      kubeadmConfigSpec: joining,
    },
  };
}

/** Every object of a whole cluster, templates first. */
export function objectsOf({ templates, infrastructure, controlPlane, cluster, workers }: WholeCluster): KubeObject[] {
  return [...templates, infrastructure, controlPlane, cluster, workers];
}

/** A chart that renders just these objects, and the path it was written to. */
export function chartOf(whole: WholeCluster): string {
  const files = objectsOf(whole).map((object, index) => [`${index}-${object.kind}.yaml`, JSON.stringify(object)]);
  return writeChart({ name: whole.name, templates: Object.fromEntries(files) });
}

/** The infrastructure machines of a cluster. */
export async function machinesOf(api: Api, { namespace, name }: WholeCluster): Promise<KubeObject[]> {
  const labelSelector = `${clusterNameLabel}=${name}`;
  return api.list({ apiVersion: metal3Version, kind: "Metal3Machine", namespace, labelSelector });
}

/** Says that the infrastructure is there, and waits until all three machines have a host. */
export async function untilUp({ api }: ControlPlane, whole: WholeCluster): Promise<void> {
  await api.patchStatus(refOf(whole.infrastructure), { ready: true });
  await eventually(`three machines of ${whole.namespace}/${whole.name} with a host`, async () => {
    const machines = await machinesOf(api, whole);
    if (machines.length === 3 && machines.every(({ status }) => status?.ready === true)) return true;
    throw new Error(`${machines.length} machines: ${JSON.stringify(machines.map(({ status }) => status))}`);
  });
}

/** Creates a whole cluster in a namespace of its own, without Helm, and waits until it is up. */
export async function createWholeCluster(controlPlane: ControlPlane, whole: WholeCluster): Promise<void> {
  const { api } = controlPlane;
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: whole.namespace } });
  for (const object of objectsOf(whole)) await api.create(object);
  await untilUp(controlPlane, whole);
}

/** References to those of a cluster's objects and machines that are still there. */
export async function remainsOf(api: Api, whole: WholeCluster): Promise<ObjectRef[]> {
  const kinds = [
    ...["Machine", "MachineSet", "MachineDeployment", "Cluster"].map((kind) => ({ apiVersion: coreVersion, kind })),
    ...objectsOf(whole).map(({ apiVersion, kind }) => ({ apiVersion, kind })),
    { apiVersion: metal3Version, kind: "Metal3Machine" },
    { apiVersion: "v1", kind: "ConfigMap", namespace: "capi-caretaker", labelSelector: "capi-caretaker.io/copy-of" },
  ];
  const found = await Promise.all(kinds.map((kind) => api.list({ namespace: whole.namespace, ...kind })));
  return [...new Map(found.flat().map((object) => [JSON.stringify(refOf(object)), refOf(object)])).values()];
}
