import { ApiError } from "./api.ts";
import type { Api } from "./api-types.ts";
import { type KubeObject, refOf, valueAt } from "./objects.ts";

/** The finalizer Metal3 itself puts on its machines. */
export const metal3Finalizer = "metal3machine.infrastructure.cluster.x-k8s.io";

const healthy = [
  { type: "Ready", status: "True" },
  ...["MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => ({ type, status: "False" })),
];

/** Makes a Node as the kubelet of a provisioned host would, with all conditions good. */
async function ensureNode(api: Api, name: string, providerID: string): Promise<void> {
  const ref = { apiVersion: "v1", kind: "Node", name };
  if ((await api.get(ref)) !== undefined) return;
  try {
    await api.create({ apiVersion: "v1", kind: "Node", metadata: { name }, spec: { providerID } });
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === "AlreadyExists")) throw error;
  }
  await api.patchStatus(ref, { conditions: healthy.map((condition) => ({ ...condition, reason: "E2E" })) });
}

/**
 * Whether the maker of an infrastructure machine or a bootstrap config has still to make its Machine. Providers do nothing
 * before that (GetOwnerMachine in Metal3, GetTypedConfigOwner in kubeadm's), and anyone's write in between makes the maker
 * give the object up and make another.
 */
export function isInTheMaking({ metadata: { ownerReferences = [] } }: KubeObject): boolean {
  const kinds = ownerReferences.map(({ kind }) => kind);
  return kinds.some((kind) => kind === "MachineSet" || kind.endsWith("ControlPlane")) && !kinds.includes("Machine");
}

/** Whether Metal3 would say of this machine that it is provisioned. */
export function isProvisioned(machine: KubeObject): boolean {
  return (
    valueAt(machine, "status", "ready") === true || valueAt(machine, "status", "initialization", "provisioned") === true
  );
}

/** Puts Metal3's finalizer on a machine. */
export async function addFinalizer(api: Api, machine: KubeObject): Promise<void> {
  const { finalizers = [], resourceVersion = "" } = machine.metadata;
  if (finalizers.includes(metal3Finalizer)) return;
  await api.mergePatch(refOf(machine), { metadata: { resourceVersion, finalizers: [...finalizers, metal3Finalizer] } });
}

/** Takes Metal3's finalizer off, as the last step of a deletion. */
export async function dropFinalizer(api: Api, machine: KubeObject): Promise<void> {
  const { finalizers = [], resourceVersion = "" } = machine.metadata;
  const kept = finalizers.filter((finalizer) => finalizer !== metal3Finalizer);
  await api.mergePatch(refOf(machine), { metadata: { resourceVersion, finalizers: kept } });
}

/**
 * Gives a machine a host at once: provider ID, a Node in the workload cluster, and the status of whichever contract its
 * version follows.
 */
export async function provision(api: Api, machine: KubeObject, workload: Api): Promise<void> {
  const { name, namespace } = machine.metadata;
  const providerID = `metal3://${namespace}/host-of-${name}/${name}`;
  if (valueAt(machine, "spec", "providerID") !== providerID)
    await api.mergePatch(refOf(machine), { spec: { providerID } });
  await ensureNode(workload, name, providerID);
  const isV1beta1 = machine.apiVersion.endsWith("/v1beta1");
  await api.patchStatus(refOf(machine), isV1beta1 ? { ready: true } : { initialization: { provisioned: true } });
}

/** Makes a bootstrap config ready as its provider would, without the Secret's content, which no host reads here. */
export async function bootstrap(api: Api, config: KubeObject): Promise<void> {
  if (isInTheMaking(config) || typeof valueAt(config, "status", "dataSecretName") === "string") return;
  const isV1beta1 = config.apiVersion.endsWith("/v1beta1");
  const ready = isV1beta1 ? { ready: true } : { initialization: { dataSecretCreated: true } };
  await api.patchStatus(refOf(config), { ...ready, dataSecretName: config.metadata.name });
}
