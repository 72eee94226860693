import { CORE } from "../../shared/objects/kinds.ts";
import { keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { OWNERS, sourcesOf } from "./chart.ts";
import { deleteMachine, machinesOf, makeMachine, mustGet, sampleKey } from "./machines.ts";
import type { World } from "./world.ts";

/** What became of the hosts of the machines that were replaced. */
export interface Hosts {
  reused: number;
  wiped: number;
}

/**
 * Replaces the machines of one owner by new ones from its current templates, one by one, and delivers the events of
 * each step. A MachineDeployment does it through a new MachineSet; the old one goes when it is empty.
 *
 * @param revision names the new machines
 * @param most stops after so many machines, as a rollout that is interrupted
 */
export async function rollOut(
  world: World,
  owner: ObjectKey,
  revision: string,
  hosts: Hosts,
  most = 99,
): Promise<void> {
  const { cluster, settle } = world;
  const live = await mustGet(cluster, owner);
  const from = await sourcesOf(cluster, owner);
  const oldSets = owner.kind === "MachineDeployment" ? await setsOf(world, owner) : [];
  const controller = oldSets.length === 0 ? live : await newSet(world, owner, revision);
  const old = oldSets.length === 0 ? await machinesOf(cluster, owner) : await machinesIn(world, oldSets);
  for (const [index, name] of old.slice(0, most).entries()) {
    await makeMachine(cluster, `${owner.name}-${revision}-${index}`, controller, from);
    await settle();
    await replaceHost(world, name, hosts);
  }
  for (const set of oldSets) {
    if ((await machinesOf(cluster, set)).length === 0) await cluster.delete(await mustGet(cluster, set));
  }
  await settle();
}

/** Rolls every owner out to its end. */
export async function rollOutAll(world: World, revision: string, hosts: Hosts): Promise<void> {
  for (const owner of OWNERS) await rollOut(world, owner, revision, hosts);
}

/** Deletes a machine and counts what becomes of its host. */
export async function replaceHost({ cluster, settle }: World, name: string, hosts: Hosts): Promise<void> {
  const isReused = await deleteMachine(cluster, name, settle);
  if (isReused) hosts.reused += 1;
  else hosts.wiped += 1;
  await settle();
}

/** Has a MachineSet make a new machine in the place of a lost one; false when a template for it is gone. */
export async function replaceLost({ cluster, settle }: World, set: ObjectKey, name: string): Promise<boolean> {
  const isMade = await makeMachine(cluster, name, await mustGet(cluster, set), await sourcesOf(cluster, set));
  await settle();
  return isMade;
}

/** The MachineSets of a MachineDeployment. */
export async function setsOf({ cluster }: World, owner: ObjectKey): Promise<readonly ObjectKey[]> {
  const sets = await cluster.list({ group: CORE, kind: "MachineSet" });
  return sets.filter((set) => set.metadata.ownerReferences?.some(({ name }) => name === owner.name)).map(keyOf);
}

async function machinesIn({ cluster }: World, sets: readonly ObjectKey[]): Promise<readonly string[]> {
  return (await Promise.all(sets.map((set) => machinesOf(cluster, set)))).flat();
}

async function newSet({ cluster, settle }: World, owner: ObjectKey, revision: string) {
  const { apiVersion, metadata, spec } = await mustGet(cluster, owner);
  const key = sampleKey(CORE, "MachineSet", `${owner.name}-${revision}`);
  const controller = { apiVersion, kind: owner.kind, name: owner.name, uid: metadata.uid, controller: true };
  const { name, namespace } = key;
  const { labels } = metadata;
  await cluster.create({
    apiVersion,
    kind: "MachineSet",
    metadata: { name, namespace, labels, ownerReferences: [controller] },
    spec,
  });
  await settle();
  return mustGet(cluster, key);
}
