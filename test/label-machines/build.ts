import { gatherAdoption } from "../../functions/label-machines/gather.ts";
import { ADOPT, CONTROL_PLANE_LABEL } from "../../functions/label-machines/marks.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import { snapshotCluster } from "../../shared/cluster/snapshot/cluster.ts";
import { mergePatch } from "../../shared/cluster/snapshot/merge-patch.ts";
import { CLUSTER_NAME, PAUSED } from "../../shared/marks/marks.ts";
import { BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { annotated, labelled, object, ownedBy, referenceTo } from "../build/objects.ts";

export const NAMES = ["cp-1", "cp-2", "cp-3"] as const;
export const SERVICE_ACCOUNT = "capi-caretaker:label-machines";

/** The same object with an RFC 7386 merge patch applied. */
export function changed(one: KubeObject, patch: Readonly<Record<string, unknown>>): KubeObject {
  return mergePatch(one, patch) as KubeObject;
}

const ARGS = [{ name: "cloud-provider", value: "external" }];
const CONFIGURATION = {
  apiServer: { certSANs: ["api.example"] },
  featureGates: { ControlPlaneKubeletLocalMode: true },
};

/** What the control plane would make: the parts of the configs below. */
export const CONFIG_SPEC = {
  clusterConfiguration: CONFIGURATION,
  initConfiguration: { nodeRegistration: { kubeletExtraArgs: ARGS } },
  joinConfiguration: { nodeRegistration: { kubeletExtraArgs: ARGS } },
  preKubeadmCommands: ["swapoff -a"],
};

export const infraTemplate = object(`Metal3MachineTemplate.${INFRASTRUCTURE}/v1beta1`, "mgmt-cp", {
  spec: { template: { spec: { image: { url: "http://10.0.0.1/os.qcow2" } } } },
});

export const bareKcp = object(`KubeadmControlPlane.${CONTROL_PLANE}/v1beta2`, "mgmt", {
  spec: {
    replicas: 3,
    version: "v1.33.1",
    machineTemplate: { spec: { infrastructureRef: referenceTo(infraTemplate, "v1beta2") } },
    kubeadmConfigSpec: CONFIG_SPEC,
  },
});

export const cluster = object(`Cluster.${CORE}/v1beta2`, "mgmt", {
  spec: {
    controlPlaneRef: referenceTo(bareKcp, "v1beta2"),
    controlPlaneEndpoint: { host: "10.0.0.10", port: 6443 },
  },
  status: { initialization: { infrastructureProvisioned: true } },
});

/** Opted in, paused and owned by its Cluster: ready for an adoption. */
export const kcp = annotated(ownedBy(bareKcp, cluster, true), { [ADOPT]: "true", [PAUSED]: "true" });

export const secrets = ["ca", "etcd", "sa", "proxy"].map((suffix) => object("Secret.v1", `mgmt-${suffix}`));

/** The config of the first machine, made by `kubeadm init`, or of one that joined. */
export function config(name: string): KubeObject {
  const { clusterConfiguration, initConfiguration, joinConfiguration, ...rest } = CONFIG_SPEC;
  const join = { ...joinConfiguration, controlPlane: {}, discovery: { bootstrapToken: { token: `${name}.secret` } } };
  const own = name === "cp-1" ? { initConfiguration } : { joinConfiguration: join };
  const seen = { ...clusterConfiguration, controlPlaneEndpoint: "10.0.0.10:6443" };
  const spec = { ...rest, clusterConfiguration: seen, ...own };
  const one = object(`KubeadmConfig.${BOOTSTRAP}/v1beta2`, name, { spec });
  return labelled(one, { [CLUSTER_NAME]: "mgmt" });
}

export function infraMachine(name: string): KubeObject {
  const spec = { image: { url: "http://10.0.0.1/os.qcow2" }, providerID: `metal3://${name}` };
  return object(`Metal3Machine.${INFRASTRUCTURE}/v1beta1`, name, { spec });
}

export function machine(name: string): KubeObject {
  const spec = {
    clusterName: "mgmt",
    version: "v1.33.1",
    bootstrap: { configRef: referenceTo(config(name), "v1beta2") },
    infrastructureRef: referenceTo(infraMachine(name), "v1beta2"),
  };
  const one = object(`Machine.${CORE}/v1beta2`, name, { spec });
  return labelled(ownedBy(one, cluster), { [CLUSTER_NAME]: "mgmt" });
}

const workerConfig = object(`KubeadmConfig.${BOOTSTRAP}/v1beta2`, "worker-1", {
  spec: { joinConfiguration: { nodeRegistration: { kubeletExtraArgs: ARGS } } },
});
/** A machine of the cluster that no adoption may ever touch. */
export const worker = changed(machine("worker-1"), {
  spec: { bootstrap: { configRef: referenceTo(workerConfig, "v1beta2") } },
});

export function seen(one: KubeObject): KubeObject {
  return labelled(one, { [CONTROL_PLANE_LABEL]: "" });
}

/** Everything of a cluster of three single machines whose control plane waits for them. */
export function world(): readonly KubeObject[] {
  const members = NAMES.flatMap((name) => [machine(name), config(name), infraMachine(name)]);
  return [cluster, kcp, infraTemplate, ...secrets, ...members, worker, workerConfig];
}

/** The same objects with some of them replaced, by key; a replacement of nothing is added. */
export function replaced(objects: readonly KubeObject[], ...others: readonly KubeObject[]): readonly KubeObject[] {
  const same = (a: KubeObject, b: KubeObject) => JSON.stringify(keyOf(a)) === JSON.stringify(keyOf(b));
  return [...objects.filter((one) => !others.some((other) => same(one, other))), ...others];
}

/** Without these objects. */
export function without(objects: readonly KubeObject[], ...gone: readonly KubeObject[]): readonly KubeObject[] {
  const keys = new Set(gone.map((one) => JSON.stringify(keyOf(one))));
  return objects.filter((one) => !keys.has(JSON.stringify(keyOf(one))));
}

/** A cluster in which a secret that is read fails the test; `isForbidden`: not even its existence may be asked for. */
export function withExistence(inner: Cluster, isForbidden = false): Cluster {
  const exists = async (key: Parameters<Cluster["get"]>[0]) => {
    if (isForbidden) throw new ClusterError("forbidden", "secrets is forbidden");
    return inner.exists(key);
  };
  const noSecrets: Cluster["get"] = (key) => {
    if (key.kind === "Secret") throw new Error("a secret was read");
    return inner.get(key);
  };
  return Object.assign({}, inner, { get: noSecrets, exists });
}

/** The facts about the control plane in these objects. */
export async function factsOf(objects: readonly KubeObject[], options: { readonly isForbidden?: boolean } = {}) {
  const inner = withExistence(snapshotCluster(objects), options.isForbidden);
  const marked = objects.find(({ apiVersion }) => apiVersion.startsWith(CONTROL_PLANE)) ?? kcp;
  const facts = await gatherAdoption(inner, keyOf(marked), SERVICE_ACCOUNT);
  if (facts === undefined) throw new Error("no control plane");
  return facts;
}
