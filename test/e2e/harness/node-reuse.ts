import type { Api } from "./api-types.ts";
import { clusterNameLabel, coreVersion } from "./capi-objects.ts";
import { type KubeObject, type OwnerReference, valueAt } from "./objects.ts";

/**
 * Where Metal3 looks for a deleted machine's template. Up to 1.12: the machine's annotation `cluster.x-k8s.io/cloned-from-name`
 * (baremetal/metal3machine_manager.go, Delete). From 1.13: what the Machine's MachineSet or control plane names now.
 */
export type TemplateLookup = "annotation" | "owner";

/** What a lookup found: nodeReuse as the template has it, no template, or no lookup because the whole Cluster goes. */
export type Found = boolean | "no-template" | "cluster-deleting";

function owner(object: KubeObject | undefined, isWanted: (kind: string) => boolean): OwnerReference | undefined {
  return object?.metadata.ownerReferences?.find(({ kind }) => isWanted(kind));
}

async function namedByOwner(api: Api, metal3Machine: KubeObject): Promise<string | undefined> {
  const { namespace = "" } = metal3Machine.metadata;
  const machineRef = owner(metal3Machine, (kind) => kind === "Machine");
  if (machineRef === undefined) return undefined;
  const machine = await api.get({ ...machineRef, apiVersion: coreVersion, namespace });
  const ref = owner(machine, (kind) => kind === "MachineSet" || kind.endsWith("ControlPlane"));
  if (ref === undefined) return undefined;
  const holder = await api.get({ ...ref, namespace });
  const path = ref.kind === "MachineSet" ? ["spec", "template", "spec"] : ["spec", "machineTemplate", "spec"];
  const name = valueAt(holder, ...path, "infrastructureRef", "name");
  return typeof name === "string" ? name : undefined;
}

async function isClusterDeleting(api: Api, { metadata }: KubeObject): Promise<boolean> {
  const name = metadata.labels?.[clusterNameLabel];
  if (name === undefined) return false;
  const ref = {
    apiVersion: coreVersion,
    kind: "Cluster",
    name,
    ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
  };
  return (await api.get(ref))?.metadata.deletionTimestamp !== undefined;
}

/** Looks the template of a Metal3Machine up as Metal3 does when the machine is deleted: by name, in the machine's namespace. */
export async function lookUpNodeReuse(
  api: Api,
  metal3Machine: KubeObject,
  lookup: TemplateLookup,
): Promise<{ template: string | undefined; found: Found }> {
  const { namespace = "", annotations = {} } = metal3Machine.metadata;
  const template =
    lookup === "annotation" ? annotations["cluster.x-k8s.io/cloned-from-name"] : await namedByOwner(api, metal3Machine);
  if (await isClusterDeleting(api, metal3Machine)) return { template, found: "cluster-deleting" };
  if (template === undefined) return { template, found: "no-template" };
  const { apiVersion } = metal3Machine;
  const object = await api.get({ apiVersion, kind: "Metal3MachineTemplate", namespace, name: template });
  return { template, found: object === undefined ? "no-template" : valueAt(object, "spec", "nodeReuse") === true };
}
