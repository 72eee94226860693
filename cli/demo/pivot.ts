import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { handle as rewrite } from "../../functions/rewrite-urls/index.ts";
import { CLUSTER } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { canProvision, type ImageServer, servedFrom, startImageServer } from "./images.ts";
import { mustGet, sampleKey } from "./machines.ts";
import type { Narrator } from "./narrator.ts";
import { createWorld, type World } from "./world.ts";

/** The address in the sample, of the cluster that it was bootstrapped from. */
const BOOTSTRAP = "http://192.0.2.17";

/** After the pivot: templates name the image server of a bootstrap cluster that is switched off. */
export async function pivot(objects: readonly KubeObject[], say: Narrator): Promise<void> {
  const [bootstrap, management] = [await startImageServer(), await startImageServer()];
  const folder = await mkdtemp(join(tmpdir(), "caretaker-demo-"));
  const rules = join(folder, "rules.yaml");
  await writeFile(rules, `rules:\n  - from: ${bootstrap.url}/\n    to: ${management.url}/\n`);
  const moved = servedFrom(objects, BOOTSTRAP, bootstrap.url).map(paused);
  const world = await createWorld(moved, { functions: { "rewrite-urls": rewrite }, rules, hear: say.hear });
  try {
    await play(world, bootstrap, say);
  } finally {
    await Promise.all([world.close(), management.close(), rm(folder, { recursive: true })]);
  }
}

async function play(world: World, bootstrap: ImageServer, say: Narrator): Promise<void> {
  say.title("After clusterctl move: the images are still those of the bootstrap cluster");
  say.step("the objects arrive, their Cluster paused; the bootstrap cluster is switched off");
  await bootstrap.close();
  await world.sweep();
  const before = templates(world);
  say.expect("templates whose image can be fetched", await fetchable(before), 0);
  say.step("the Cluster is unpaused; the new URLs answer, so the templates get them, in place");
  const cluster = await mustGet(world.cluster, sampleKey(CLUSTER.group, CLUSTER.kind, "mgmt"));
  await world.cluster.patch(cluster, { spec: { paused: null } });
  await world.settle();
  const after = templates(world);
  say.expect("templates whose image can be fetched", await fetchable(after), before.length);
  say.expect("templates that are new objects", after.filter((one) => !before.some(isSame(one))).length, 0);
}

function paused(object: KubeObject): KubeObject {
  if (keyOf(object).kind !== CLUSTER.kind) return object;
  return { ...object, spec: { ...(object.spec as object), paused: true } };
}

function templates(world: World): readonly KubeObject[] {
  return world.cluster.all().filter(({ kind }) => kind === "Metal3MachineTemplate");
}

async function fetchable(those: readonly KubeObject[]): Promise<number> {
  return (await Promise.all(those.map(canProvision))).filter(Boolean).length;
}

function isSame(one: KubeObject): (other: KubeObject) => boolean {
  return (other) => other.metadata.uid === one.metadata.uid;
}
