import { coreVersion } from "../harness/capi-objects.ts";
import type { TemplateLookup } from "../harness/node-reuse.ts";
import { conditionOf, type KubeObject, refOf, valueAt } from "../harness/objects.ts";
import { untilRolledOut } from "../harness/workload.ts";
import { valuesOf, writeHashedChart } from "./hashed-chart.ts";
import { inTime } from "./patience.ts";
import { type HelmMajor, install, upgrade } from "./release.ts";
import type { Scene } from "./stage.ts";
import { openScene } from "./stage.ts";
import { clonedFrom, clonesOf, deploymentOf, hasNode, machinesOf, templateNames, templatesInUse } from "./workers.ts";

/** A release whose machines run, and what happens to it. */
export interface Rollout extends Scene {
  helm: HelmMajor;
  chart: string;
  /** What the values "one" rendered. */
  old: { machine: string; config: string; titles: string[] };
}

export interface RolloutOptions {
  helm: HelmMajor;
  lookup?: TemplateLookup;
  /** 3 by default. */
  replicas?: number;
  /** Whether the chart's templates carry Helm's `keep`; false by default. */
  keep?: boolean;
  /** Further files of the chart's templates folder. */
  more?: Record<string, string>;
  /** Done once the namespace and its cluster are there, before the release is. */
  before?: (scene: Scene) => Promise<void> | void;
}

/** Installs the release with the values "one" into a new namespace and waits until its machines run. */
export async function installed(
  controlPlane: Scene["controlPlane"],
  namespace: string,
  { helm, lookup = "annotation", replicas = 3, keep = false, more = {}, before = () => {} }: RolloutOptions,
): Promise<Rollout> {
  const scene = await openScene(controlPlane, namespace, lookup);
  await before(scene);
  const chart = writeHashedChart(namespace, { replicas, keep, more });
  await install(scene, helm, chart, valuesOf("one"));
  await untilSettled(scene);
  const old = { ...templateNames(await deploymentOf(scene)), titles: await templatesInUse(scene) };
  return { ...scene, helm, chart, old };
}

/** Waits until the MachineDeployment says that it is rolled out. */
export async function untilSettled(scene: Scene): Promise<void> {
  await untilRolledOut(scene.controlPlane.api, await deploymentOf(scene), 240_000);
}

/** Upgrades to values by which every template gets another name. */
export async function upgradedTo(rollout: Rollout, text: string): Promise<void> {
  await upgrade(rollout, rollout.helm, rollout.chart, valuesOf(text));
}

/** Machines that are made from the old templates, or from newer ones, and that run. */
export async function running(rollout: Rollout, from: "old" | "new"): Promise<KubeObject[]> {
  const clones = await clonesOf(rollout.controlPlane.api, rollout.namespace, rollout.old.machine);
  const names = new Set(clones.map(({ metadata }) => metadata.name));
  const machines = await machinesOf(rollout);
  return machines.filter((machine) => {
    const isOld = names.has(String(valueAt(machine, "spec", "infrastructureRef", "name")));
    return isOld === (from === "old") && machine.metadata.deletionTimestamp === undefined && hasNode(machine);
  });
}

/** The MachineSet that names the old machine template. Throws when there is none. */
export async function oldMachineSet({ controlPlane, namespace, old }: Rollout): Promise<KubeObject> {
  const sets = await controlPlane.api.list({ apiVersion: coreVersion, kind: "MachineSet", namespace });
  const found = sets.find((set) => templateNames(set).machine === old.machine);
  if (found === undefined) throw new Error("the old MachineSet is gone");
  return found;
}

/** Waits until Cluster API says that a MachineSet cannot make a machine for lack of a template. */
export function untilBlocked(machineSet: () => Promise<KubeObject>): Promise<boolean> {
  return inTime("Cluster API to say what it lacks", async () => {
    const condition = conditionOf(await machineSet(), "ScalingUp");
    return /blocked because.*Template.*not exist/s.test(condition?.message ?? "");
  });
}

/** Upgrades to the values "two" and has the rollout stand still with all old machines there and one new one asked for. */
export async function upgradedAndHalted(rollout: Rollout): Promise<void> {
  const before = (await machinesOf(rollout)).length;
  rollout.standIn.holdProvisioning((machine) => clonedFrom(machine) !== rollout.old.machine);
  await upgradedTo(rollout, "two");
  await inTime("a new machine to be asked for", async () => (await machinesOf(rollout)).length === before + 1);
}

/** Deletes one of the machines that run on the old templates, as when a host dies and its machine is remediated. */
export async function loseOne(rollout: Rollout): Promise<void> {
  const { api } = rollout.controlPlane;
  const [lost] = await running(rollout, "old");
  if (lost === undefined) throw new Error("no old machine runs");
  await api.delete(refOf(lost));
  await inTime("the lost machine to be gone", async () => (await api.get(refOf(lost))) === undefined);
}

/** Upgrades to the values "two", rolls on until one machine is replaced, and holds the other new ones back. */
export async function upgradedUntilOneIsReplaced(rollout: Rollout): Promise<void> {
  const { standIn, old } = rollout;
  let successor: string | undefined;
  standIn.holdProvisioning((machine) => {
    if (clonedFrom(machine) === old.machine) return false;
    successor ??= machine.metadata.name;
    return machine.metadata.name !== successor;
  });
  await upgradedTo(rollout, "two");
  await inTime("one machine to be replaced", async () => {
    const [before, after] = [await running(rollout, "old"), await running(rollout, "new")];
    return before.length === 2 && after.length === 1 && standIn.records.length === 1;
  });
}

/** Names the former templates in the MachineDeployment again, as a person does who edits it by hand. */
export async function revertByHand(rollout: Rollout): Promise<void> {
  const { machine, config } = rollout.old;
  const spec = { infrastructureRef: { name: machine }, bootstrap: { configRef: { name: config } } };
  await rollout.controlPlane.api.mergePatch(refOf(await deploymentOf(rollout)), { spec: { template: { spec } } });
}

/** What Metal3 would have found at each machine deletion so far. */
export function foundNodeReuse({ standIn }: Scene): unknown[] {
  return standIn.records.map(({ found }) => found);
}
