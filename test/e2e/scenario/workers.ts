import type { Api } from "../harness/api-types.ts";
import { bootstrapVersion, coreVersion } from "../harness/capi-objects.ts";
import { type Kind, type KubeObject, type ObjectRef, valueAt } from "../harness/objects.ts";
import { metal3Version } from "./caretakers.ts";
import type { Scene } from "./stage.ts";

export const machineTemplateKind: Kind = { apiVersion: metal3Version, kind: "Metal3MachineTemplate" };
export const dataTemplateKind: Kind = { apiVersion: metal3Version, kind: "Metal3DataTemplate" };
export const configTemplateKind: Kind = { apiVersion: bootstrapVersion, kind: "KubeadmConfigTemplate" };
export const templateKinds: readonly Kind[] = [machineTemplateKind, dataTemplateKind, configTemplateKind];

/** Kind and name, as people write it. */
export function titleOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}

/** Every template of the scene's namespace. */
export async function templatesIn({ controlPlane: { api }, namespace }: Scene): Promise<KubeObject[]> {
  const lists = await Promise.all(templateKinds.map((kind) => api.list({ ...kind, namespace })));
  return lists.flat();
}

export function deploymentRef({ namespace }: Scene): ObjectRef {
  return { apiVersion: coreVersion, kind: "MachineDeployment", namespace, name: "workers" };
}

/** The MachineDeployment of the scene's chart. Throws when there is none. */
export async function deploymentOf(scene: Scene): Promise<KubeObject> {
  const deployment = await scene.controlPlane.api.get(deploymentRef(scene));
  if (deployment === undefined) throw new Error(`no MachineDeployment in ${scene.namespace}`);
  return deployment;
}

/** The names of the machine and the config template that an object with a machine template names. */
export function templateNames(object: KubeObject): { machine: string; config: string } {
  const spec = valueAt(object, "spec", "template", "spec");
  return {
    machine: String(valueAt(spec, "infrastructureRef", "name")),
    config: String(valueAt(spec, "bootstrap", "configRef", "name")),
  };
}

/** The titles of the templates that the MachineDeployment needs now, directly or through its machine template. */
export async function templatesInUse(scene: Scene): Promise<string[]> {
  const { machine, config } = templateNames(await deploymentOf(scene));
  const { namespace, controlPlane } = scene;
  const template = await controlPlane.api.get({ ...machineTemplateKind, namespace, name: machine });
  const data = String(valueAt(template, "spec", "template", "spec", "dataTemplate", "name"));
  return [`Metal3MachineTemplate/${machine}`, `Metal3DataTemplate/${data}`, `KubeadmConfigTemplate/${config}`];
}

/** The machines that a MachineSet of the scene's MachineDeployment made, the Terminating ones too. */
export function machinesOf({ controlPlane: { api }, namespace }: Scene): Promise<KubeObject[]> {
  const labelSelector = "cluster.x-k8s.io/deployment-name=workers";
  return api.list({ apiVersion: coreVersion, kind: "Machine", namespace, labelSelector });
}

/** The Metal3Machines cloned from a machine template, the Terminating ones too. */
export async function clonesOf(api: Api, namespace: string, machineTemplate: string): Promise<KubeObject[]> {
  const machines = await api.list({ apiVersion: metal3Version, kind: "Metal3Machine", namespace });
  return machines.filter((machine) => clonedFrom(machine) === machineTemplate);
}

export function clonedFrom({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.["cluster.x-k8s.io/cloned-from-name"];
}

/** Whether a machine has a running node, as its Available condition's reason does not tell soon enough. */
export function hasNode(machine: KubeObject): boolean {
  return valueAt(machine, "status", "nodeRef", "name") !== undefined;
}
