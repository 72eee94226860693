import type { Api } from "../harness/api-types.ts";
import { type Fields, type Kind, type KubeObject, refOf, valueAt } from "../harness/objects.ts";

export const hostKind: Kind = { apiVersion: "metal3.io/v1alpha1", kind: "BareMetalHost" };
/** On a machine, the host that is its own. */
export const claimed = "metal3.io/BareMetalHost";
/** On a host, its status, from which a host that was moved takes it back. */
export const savedStatus = "baremetalhost.metal3.io/status";

/** What a host says of itself in a state, with the image it has. */
export function provisioning(state: string, image?: unknown): Fields {
  const rest = { errorCount: 0, errorMessage: "", operationalStatus: "OK", poweredOn: true, provisioningFailCount: 0 };
  return { ...rest, provisioning: { ID: "", state, image: image ?? null } };
}

/**
 * Gives a machine the first free host and copies the image to it, as Metal3 does (cluster-api-provider-metal3 setHostSpec).
 * False when none is free.
 */
export async function claim(api: Api, event: KubeObject, metal3Machine: Kind): Promise<boolean> {
  // An event may be older than the machine's deletion, and a host claimed after it would never be released.
  const machine = await api.get(refOf(event));
  if (machine === undefined || machine.metadata.deletionTimestamp !== undefined) return true;
  const { name, namespace = "" } = machine.metadata;
  const hosts = await api.list({ ...hostKind, namespace });
  const isFree = (host: KubeObject) => valueAt(host, "spec", "consumerRef") === undefined;
  const host =
    hosts.find((one) => valueAt(one, "spec", "consumerRef", "name") === name) ??
    hosts.find((one) => isFree(one) && valueAt(one, "spec", "image") === undefined);
  if (host === undefined) return false;
  const { url, checksum, checksumType } = valueAt(machine, "spec", "image") as Fields;
  const image = { url, checksum, checksumType, format: "qcow2" };
  const { resourceVersion = "" } = host.metadata;
  await api.mergePatch(refOf(host), {
    metadata: { resourceVersion },
    spec: { image, consumerRef: { ...metal3Machine, namespace, name } },
  });
  await api.mergePatch(refOf(machine), {
    metadata: { annotations: { [claimed]: `${namespace}/${host.metadata.name}` } },
  });
  return true;
}

/** Takes a host back from a machine that is being deleted. */
export async function release(api: Api, { metadata }: KubeObject): Promise<void> {
  const { name, namespace = "" } = metadata;
  const hosts = await api.list({ ...hostKind, namespace });
  const host = hosts.find((one) => valueAt(one, "spec", "consumerRef", "name") === name);
  if (host === undefined) return;
  // In this order, or it would be provisioned again, or claimed with its old status.
  await api.mergePatch(refOf(host), { metadata: { annotations: { [savedStatus]: null } }, spec: { image: null } });
  await api.patchStatus(refOf(host), provisioning("available"));
  await api.mergePatch(refOf(host), { spec: { consumerRef: null } });
}
