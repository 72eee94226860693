import { describe, expect, test } from "vitest";
import { REWRITE_CONTESTED, REWRITTEN_FROM } from "../../functions/rewrite-urls/record.ts";
import type { Rules } from "../../functions/rewrite-urls/rules.ts";
import { annotation } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { stringAt } from "../../shared/objects/path.ts";
import { type Bench, bench } from "../build/bench.ts";
import { metal3MachineTemplate } from "../build/objects.ts";
import { applied, managed } from "./managed.ts";
import { IMAGE_URL, image, NEW, OLD, RULES, rulesOf, under, withSpec } from "./world.ts";

const FILE = `${OLD}/os.qcow2`;
const bare = withSpec(metal3MachineTemplate("t"), image({ url: FILE }));

/** A template that `manager` applies, rewritten once. */
async function rewritten(manager: string): Promise<Bench> {
  const template: KubeObject = {
    ...bare,
    metadata: { ...bare.metadata, managedFields: [applied(manager, bare, IMAGE_URL)] },
  };
  const world = bench([template], {}, managed);
  await world.send(under(RULES), "add", template);
  return world;
}

/** `manager` sets a URL, and the function hears of it. */
async function sets(world: Bench, manager: string, url = FILE, rules: Rules = RULES): Promise<void> {
  const written = await managed(world.cluster, manager).patch(await world.live(bare), { spec: image({ url }) });
  await world.send(under(rules), "update", written ?? bare);
}

const urlOf = async (world: Bench) => stringAt(await world.live(bare), IMAGE_URL);
const markOf = async (world: Bench) => JSON.parse(annotation(await world.live(bare), REWRITE_CONTESTED) ?? "null");
/** How often the function wrote the new URL. */
const rewrites = ({ changes }: Bench) =>
  changes.filter(({ object }, index) => {
    const before = changes.slice(0, index).findLast(({ type }) => type === "update")?.object;
    return stringAt(object, IMAGE_URL)?.startsWith(NEW) && !(before && stringAt(before, IMAGE_URL)?.startsWith(NEW));
  }).length;

describe("someone puts the old URL back", () => {
  test("once -> rewritten again, and counted", async () => {
    const world = await rewritten("helm");
    await sets(world, "helm");
    expect(await urlOf(world)).toBe(`${NEW}/os.qcow2`);
    expect(await markOf(world)).toMatchObject({ reverts: ["2026-09-01T12:00:00Z"], by: "helm" });
  });

  test("three times within ten minutes -> given way, marked, told with the manager's name; nothing more is written", async () => {
    const world = await rewritten("kustomize-controller");
    for (const _ of [1, 2, 3]) {
      world.pass({ minutes: 3 });
      await sets(world, "kustomize-controller");
    }
    expect(await urlOf(world)).toBe(FILE);
    expect(rewrites(world)).toBe(3);
    expect(await markOf(world)).toMatchObject({ by: "kustomize-controller", stoppedAt: "2026-09-01T12:09:00Z" });
    const told = world.cluster.events().filter(({ reason }) => reason === "RewriteContested");
    expect(told).toHaveLength(1);
    expect(told[0]?.note).toMatch(/kustomize-controller put the old URL back 3 times.*ssa: IfNotPresent/);
    const writes = world.changes.length;
    await world.sweep(under(RULES));
    await world.send(under(RULES), "update", await world.live(bare));
    expect(world.changes).toHaveLength(writes);
  });

  test("now and then, more than ten minutes apart -> rewritten each time", async () => {
    const world = await rewritten("helm");
    for (const _ of [1, 2, 3, 4, 5]) {
      world.pass({ minutes: 6 });
      await sets(world, "helm");
    }
    expect(await urlOf(world)).toBe(`${NEW}/os.qcow2`);
  });

  async function contested(): Promise<Bench> {
    const world = await rewritten("helm");
    for (const _ of [1, 2, 3]) await sets(world, "helm");
    return world;
  }

  test.each([
    ["59 minutes", 59, FILE],
    ["an hour", 60, `${NEW}/os.qcow2`],
  ])("given way, %s later -> %i: %s", async (_situation, minutes, outcome) => {
    const world = await contested();
    world.pass({ minutes });
    await world.sweep(under(RULES));
    expect(await urlOf(world)).toBe(outcome);
  });

  test("after the hour, put back again -> three more, then given way again", async () => {
    const world = await contested();
    world.pass({ hours: 1 });
    await world.sweep(under(RULES));
    for (const _ of [1, 2, 3, 4]) await sets(world, "helm");
    expect(await urlOf(world)).toBe(FILE);
    expect(rewrites(world)).toBe(6);
  });

  test("given way, the rules change -> rewritten at once", async () => {
    const world = await contested();
    await world.sweep(under(rulesOf({}, `${OLD}/`, "https://other/")));
    expect(await urlOf(world)).toBe("https://other/os.qcow2");
  });

  test("given way, its owner sets the new URL -> the mark goes in a while", async () => {
    const world = await contested();
    await sets(world, "helm", `${NEW}/os.qcow2`);
    expect(await markOf(world)).not.toBeNull();
    world.pass({ minutes: 11 });
    await world.sweep(under(RULES));
    expect(await markOf(world)).toBeNull();
  });

  test.each([
    ["helm-controller", /\/spec\/template\/spec\/image\/url under driftDetection\.ignore/],
    [
      "argocd-controller",
      /ignoreDifferences with jsonPointers \/spec\/template\/spec\/image\/url.*RespectIgnoreDifferences=true/,
    ],
    ["helm", /chart's values/],
    ["my-tool", /source that my-tool applies/],
  ])("%s -> told what to set there", async (manager, advice) => {
    const world = await rewritten(manager);
    for (const _ of [1, 2, 3]) await sets(world, manager);
    expect(world.cluster.events().find(({ reason }) => reason === "RewriteContested")?.note).toMatch(advice);
  });
});

describe("what is no revert", () => {
  const fromOf = async (world: Bench) =>
    JSON.parse(annotation(await world.live(bare), REWRITTEN_FROM) ?? "null")[IMAGE_URL];

  test("a new image at the old address -> rewritten, and that is what was there first", async () => {
    const world = await rewritten("helm");
    for (const file of ["a", "b", "c", "d"]) await sets(world, "helm", `${OLD}/${file}`);
    expect(await urlOf(world)).toBe(`${NEW}/d`);
    expect(await fromOf(world)).toBe(`${OLD}/d`);
    expect(await markOf(world)).toBeNull();
  });

  test("rules that move the URL on -> rewritten, the very first URL stays noted", async () => {
    const world = await rewritten("helm");
    await world.sweep(under(rulesOf({}, `${NEW}/`, "https://third/")));
    expect(await urlOf(world)).toBe("https://third/os.qcow2");
    expect(await fromOf(world)).toBe(FILE);
    expect(await markOf(world)).toBeNull();
  });

  test("its owner's own new URL -> stays", async () => {
    const world = await rewritten("helm");
    await sets(world, "helm", "https://chart/os.qcow2");
    expect(await urlOf(world)).toBe("https://chart/os.qcow2");
  });
});
