import { createHash } from "node:crypto";
import { hasHold, isRetired } from "../../shared/marks/marks.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { isTerminating, type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { helmUpgrade, OWNERS, rendered, sourcesOf } from "./chart.ts";
import { mustGet } from "./machines.ts";
import type { Narrator } from "./narrator.ts";
import { type Hosts, replaceHost, replaceLost, rollOut, rollOutAll, setsOf } from "./rollout.ts";
import type { World } from "./world.ts";

const [, WORKERS] = OWNERS;
const HASH = /-[0-9a-f]{8}(?=-data$|$)/;

/** A template's name after the chart's content changed, and back. */
function nextName(version: string): (name: string) => string {
  return (name) => {
    const base = name.replace(/-data$/, "");
    return name.replace(HASH, `-${createHash("sha256").update(`${base} ${version}`).digest("hex").slice(0, 8)}`);
  };
}

/** The upgrade as it goes without capi-caretaker. */
export async function upgradeAlone(world: World, say: Narrator): Promise<void> {
  say.title("Without capi-caretaker: a Helm upgrade changes the hashes");
  const before = await rendered(world.cluster);
  say.step("helm upgrade: new templates are created, the specs name them, the old ones are deleted");
  await helmUpgrade(world.cluster, nextName("2"));
  say.expect("old templates still there", (await standing(world, before)).length, 0);
  await loseMachine(world, say, false);
  const hosts: Hosts = { reused: 0, wiped: 0 };
  say.step("the rollout replaces the machines one by one; Metal3 looks nodeReuse up in their old templates");
  await rollOutAll(world, "r2", hosts);
  say.expect("servers reused as they are", hosts.reused, 0);
  say.expect("servers released to anyone and wiped", hosts.wiped, 6);
}

/** The same upgrade with both functions. */
export async function upgrade(world: World, say: Narrator): Promise<void> {
  say.title("With capi-caretaker: the same upgrade");
  say.step("the first sweep finds the templates that were there before it was installed");
  await world.sweep();
  const before = await rendered(world.cluster);
  say.expect("templates held", before.filter(hasHold).length, before.length);
  say.step("helm upgrade: new templates are created, the specs name them, the old ones are deleted");
  await helmUpgrade(world.cluster, nextName("2"));
  await world.settle();
  say.expect("old templates still there", (await standing(world, before)).length, before.length);
  await loseMachine(world, say, true);
  const hosts: Hosts = { reused: 0, wiped: 0 };
  say.step("the rollout replaces the machines one by one; each old template goes with its last machine");
  await rollOutAll(world, "r2", hosts);
  say.expect("servers reused as they are", hosts.reused, 7);
  say.expect("servers released to anyone and wiped", hosts.wiped, 0);
  say.expect("old templates still there", (await standing(world, before)).length, 0);
}

/** A revert to the former hashes while the rollout is under way. */
export async function revert(world: World, say: Narrator): Promise<void> {
  say.title("A revert to the former values, mid-rollout");
  const former = await rendered(world.cluster);
  const back = new Map(former.map(({ metadata: { name } }) => [nextName("3")(name), name]));
  const hosts: Hosts = { reused: 0, wiped: 0 };
  say.step("helm upgrade again; one worker is replaced");
  await helmUpgrade(world.cluster, nextName("3"));
  await world.settle();
  const newer = await rendered(world.cluster);
  await rollOut(world, workers(), "r3", hosts, 1);
  say.step("helm upgrade back to the former values: Helm finds the old templates (Terminating) and says success");
  await helmUpgrade(world.cluster, (name) => back.get(name) ?? name);
  await world.settle();
  say.expect(
    "former templates that would vanish",
    (await standing(world, former)).filter(isTerminating).length,
    former.length,
  );
  say.step("two minutes later the sweep makes them live objects again");
  world.pass({ minutes: 3 });
  await world.sweep();
  const renewed = await standing(world, former);
  say.expect("former templates there", renewed.length, former.length);
  say.expect("of these retired", renewed.filter(isRetired).length, 0);
  say.step("the workers go back to them; the reverted templates go with their last machine");
  await rollOut(world, workers(), "r4", hosts);
  say.expect("servers released to anyone and wiped", hosts.wiped, 0);
  say.expect("reverted templates still there", (await standing(world, newer)).length, 0);
}

/** A template that was deleted without its hold. */
export async function gotAway(world: World, say: Narrator): Promise<void> {
  say.title("A template that got away, hours later");
  world.pass({ hours: 2 });
  const { infrastructure } = await sourcesOf(world.cluster, workers());
  const template = await mustGet(world.cluster, infrastructure);
  say.step("somebody strips the finalizers of a template in use and deletes it");
  const bare = await world.cluster.patch(template, { metadata: { finalizers: null } });
  await world.cluster.delete(bare ?? template);
  say.expect("is it there", (await world.cluster.get(infrastructure)) !== undefined, false);
  say.step("its delete event arrives; the API server tells what it was, the machines tell that it is needed");
  await world.settle();
  const restored = await world.cluster.get(infrastructure);
  say.expect("is it there", restored !== undefined, true);
  say.expect("is it held", restored !== undefined && hasHold(restored), true);
  say.step("a MachineDeployment still asks for it, so after two minutes it is no longer retired");
  world.pass({ minutes: 3 });
  await world.sweep();
  say.expect("is it retired", isRetired(await mustGet(world.cluster, infrastructure)), false);
}

/** What stands at the end, counted on the cluster. */
export async function summary(world: World, say: Narrator): Promise<void> {
  say.title("At the end, read from the cluster");
  const templates = world.cluster.all().filter((object) => isTemplateKind(keyOf(object)));
  const inUse = await rendered(world.cluster);
  say.table([
    ["templates", templates.length],
    ["templates the chart renders", inUse.length],
    ["held", templates.filter(hasHold).length],
    ["retired", templates.filter(isRetired).length],
    ["machines", world.cluster.all().filter(({ kind }) => kind === "Machine").length],
  ]);
  say.expect("templates that nobody renders", templates.length - inUse.length, 0);
}

/** Loses a worker while its MachineSet is an old one, and sees whether it can be replaced. */
async function loseMachine(world: World, say: Narrator, isReplaced: boolean): Promise<void> {
  const [set] = await setsOf(world, workers());
  if (set === undefined) throw new Error("the workers have no MachineSet");
  say.step("a server of the old MachineSet dies before its turn; the MachineSet clones its machine again");
  await replaceHost(world, "mgmt-md0-0", { reused: 0, wiped: 0 });
  say.expect("can the lost machine be replaced", await replaceLost(world, set, "mgmt-md0-2"), isReplaced);
}

async function standing(world: World, templates: readonly KubeObject[]): Promise<readonly KubeObject[]> {
  const live = await Promise.all(templates.map((template) => world.cluster.get(keyOf(template))));
  return live.filter((template) => template !== undefined);
}

function workers() {
  if (WORKERS === undefined) throw new Error("the sample has no workers");
  return WORKERS;
}
