import { controlPlaneVersion, coreVersion } from "../harness/capi-objects.ts";
import { type KubeObject, refOf, valueAt } from "../harness/objects.ts";
import { metal3Version } from "./caretakers.ts";
import type { Scene } from "./stage.ts";
import { clonedFrom, dataTemplateKind, machineTemplateKind } from "./workers.ts";

async function deleteAllBut(scene: Scene, templates: readonly KubeObject[], used: ReadonlySet<unknown>): Promise<void> {
  for (const template of templates) {
    if (!used.has(template.metadata.name)) await scene.controlPlane.api.delete(refOf(template));
  }
}

/** The collector of story 2: whatever no control plane, MachineSet or machine names goes, asking no MachineDeployment. */
export async function collectMachineTemplates(scene: Scene): Promise<void> {
  const { namespace } = scene;
  const { api } = scene.controlPlane;
  const sets = await api.list({ apiVersion: coreVersion, kind: "MachineSet", namespace });
  const planes = await api.list({ apiVersion: controlPlaneVersion, kind: "KubeadmControlPlane", namespace });
  const machines = await api.list({ apiVersion: metal3Version, kind: "Metal3Machine", namespace });
  const used = [
    ...sets.map((set) => valueAt(set, "spec", "template", "spec", "infrastructureRef", "name")),
    ...planes.map((plane) => valueAt(plane, "spec", "machineTemplate", "spec", "infrastructureRef", "name")),
    ...machines.map(clonedFrom),
  ];
  await deleteAllBut(scene, await api.list({ ...machineTemplateKind, namespace }), new Set(used));
}

/** The collector of story 4: data templates that no machine uses yet go. */
export async function collectDataTemplates(scene: Scene): Promise<void> {
  const { namespace } = scene;
  const { api } = scene.controlPlane;
  const machines = await api.list({ apiVersion: metal3Version, kind: "Metal3Machine", namespace });
  const used = machines.map((machine) => valueAt(machine, "spec", "dataTemplate", "name"));
  await deleteAllBut(scene, await api.list({ ...dataTemplateKind, namespace }), new Set(used));
}
