import type { Api } from "../harness/api-types.ts";
import { bootstrapVersion, clusterNameLabel, coreVersion, referenceTo } from "../harness/capi-objects.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { metal3Machine, metal3MachineTemplate } from "../harness/metal3-objects.ts";
import { type Fields, type KubeObject, type ObjectRef, refOf, valueAt } from "../harness/objects.ts";
import { createKubeadmCluster, kubeadmControlPlane } from "./kubeadm-control-plane.ts";
import { inTime } from "./patience.ts";
import { letSeeSecrets } from "./secret-rights.ts";

/** What machines and a control plane that belongs to them say alike, so that none is seen to differ. */
const nodeRegistration = { kubeletExtraArgs: [{ name: "node-labels", value: "e2e=standing" }] };

export interface StandingOptions {
  namespace: string;
  /** How many machines the control plane wants; 3 by default. */
  replicas?: number;
  /** Those of the control plane. Without them none is made, and the Cluster names none. */
  annotations?: Record<string, string>;
  /** What the machine of this number has in place of the others' version. */
  versions?: Record<number, string>;
  /** What the config of the machine of this number has beside what all have. */
  configs?: Record<number, Fields>;
}

/** A cluster whose three control-plane machines stand by themselves, and a control plane that may adopt them. */
export interface Standing {
  namespace: string;
  cluster: ObjectRef;
  machines: KubeObject[];
  configs: KubeObject[];
  plane: KubeObject;
}

function secret(namespace: string, name: string): KubeObject {
  const data = { "tls.crt": Buffer.from(name).toString("base64"), "tls.key": Buffer.from(name).toString("base64") };
  const labels = { [clusterNameLabel]: namespace };
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace, labels }, type: "Opaque", data };
}

function plannedPlane(namespace: string, { replicas = 3, annotations = {} }: StandingOptions): KubeObject {
  const infrastructure = metal3MachineTemplate({ namespace, name: "control-plane", version: "v1beta1" });
  const config = { initConfiguration: { nodeRegistration }, joinConfiguration: { nodeRegistration } };
  const plane = kubeadmControlPlane({ namespace, name: namespace, infrastructure, config });
  return { ...plane, metadata: { ...plane.metadata, annotations }, spec: { ...plane.spec, replicas } };
}

async function createMachine(api: Api, plane: KubeObject, index: number, options: StandingOptions) {
  const { namespace, versions = {}, configs = {} } = options;
  const name = `${namespace}-${index}`;
  const role =
    index === 0
      ? { initConfiguration: { nodeRegistration } }
      : { joinConfiguration: { nodeRegistration, controlPlane: {} } };
  const config = await api.create({
    apiVersion: bootstrapVersion,
    kind: "KubeadmConfig",
    metadata: { name, namespace },
    spec: {
      clusterConfiguration: valueAt(plane, "spec", "kubeadmConfigSpec", "clusterConfiguration"),
      ...role,
      ...configs[index],
    },
  });
  const host = await api.create(metal3Machine(namespace, name, "v1beta1"));
  const machine = await api.create({
    apiVersion: coreVersion,
    kind: "Machine",
    metadata: { name, namespace, labels: { [clusterNameLabel]: namespace } },
    spec: {
      clusterName: namespace,
      version: versions[index] ?? valueAt(plane, "spec", "version"),
      bootstrap: { configRef: referenceTo(config) },
      infrastructureRef: referenceTo(host),
    },
  });
  return { config, machine };
}

/**
 * Makes a namespace with a cluster of the same name, its secrets, which the function may see, and three control-plane machines
 * that no label tells from workers, and waits until they have hosts. The core manager and the stand-in must run.
 *
 * @param workload the control plane that plays the cluster itself
 */
export async function createStanding(api: Api, workload: ControlPlane, options: StandingOptions): Promise<Standing> {
  const { namespace } = options;
  await createKubeadmCluster(api, workload, { namespace, name: namespace });
  await letSeeSecrets(api, namespace);
  const cluster: ObjectRef = { apiVersion: coreVersion, kind: "Cluster", namespace, name: namespace };
  for (const purpose of ["ca", "sa", "proxy"]) await api.create(secret(namespace, `${namespace}-${purpose}`));
  const plane = plannedPlane(namespace, options);
  const made: { config: KubeObject; machine: KubeObject }[] = [];
  for (const index of [0, 1, 2]) made.push(await createMachine(api, plane, index, options));
  if (options.annotations === undefined) {
    await api.jsonPatch(cluster, [{ op: "remove", path: "/spec/controlPlaneRef" }]);
  } else {
    await api.create(metal3MachineTemplate({ namespace, name: "control-plane", version: "v1beta1" }));
    await api.create(plane);
  }
  const machines = made.map(({ machine }) => machine);
  await inTime(`the machines of ${namespace} to have hosts`, async () => {
    const live = await machinesIn(api, namespace);
    const isReady = live.every((one) => valueAt(one, "status", "initialization", "infrastructureProvisioned") === true);
    if (isReady) return true;
    throw new Error(`status ${JSON.stringify(live.map(({ status }) => status))}`);
  });
  return { namespace, cluster, machines, configs: made.map(({ config }) => config), plane };
}

/** All machines of a namespace. */
export function machinesIn(api: Api, namespace: string): Promise<KubeObject[]> {
  return api.list({ apiVersion: coreVersion, kind: "Machine", namespace });
}

/** The uid of an object's controller. */
export function controllerOf({ metadata }: KubeObject): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** Says what is wrong when a namespace has not exactly these machines, all of them live. */
export async function notExactly(api: Api, namespace: string, machines: readonly KubeObject[]) {
  const live = await machinesIn(api, namespace);
  const shown = (all: readonly KubeObject[]) =>
    all
      .map(({ metadata }) => metadata.name)
      .toSorted()
      .join();
  if (shown(live) !== shown(machines)) return `there are ${shown(live)}`;
  const going = live.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return going.length === 0 ? undefined : `${shown(going)} is being deleted`;
}

/** Waits until the real control plane is the controller of exactly these machines, and calls them all up to date. */
export async function untilAdopted(api: Api, plane: ObjectRef, machines: readonly KubeObject[]): Promise<void> {
  const { namespace = "" } = plane;
  await inTime(`the machines of ${namespace} to be adopted`, async () => {
    const wrong = await notExactly(api, namespace, machines);
    if (wrong !== undefined) throw new Error(wrong);
    const uid = (await api.get(plane))?.metadata.uid;
    const live = await machinesIn(api, namespace);
    if (uid !== undefined && live.every((machine) => controllerOf(machine) === uid)) return true;
    throw new Error(`they are ${JSON.stringify(live.map(({ metadata }) => metadata.ownerReferences))}`);
  });
}

/** The resourceVersions of the machines, their configs and their hosts. */
export async function stampsOf(api: Api, { machines, configs, namespace }: Standing): Promise<unknown[]> {
  const hosts = machines.map(({ metadata: { name } }) => {
    return { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1", kind: "Metal3Machine", namespace, name };
  });
  const refs = [...machines.map(refOf), ...configs.map(refOf), ...hosts];
  return Promise.all(refs.map(async (ref) => [ref, (await api.get(ref))?.metadata.resourceVersion]));
}
