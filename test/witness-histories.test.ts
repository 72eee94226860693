import fc from "fast-check";
import { expect, test } from "vitest";
import { handle as collect } from "../functions/collect-templates/index.ts";
import { handle as retain } from "../functions/retain-templates/index.ts";
import { type Cluster, ClusterError } from "../shared/cluster/cluster.ts";
import type { StoreChange } from "../shared/cluster/snapshot/store.ts";
import { CLONED_FROM_NAME, HOLD, hasHold, isRetired, NEEDED_BY } from "../shared/marks/marks.ts";
import { isTemplateKind } from "../shared/objects/kinds.ts";
import { isTerminating, type KubeObject, keyOf, keyText } from "../shared/objects/object.ts";
import { type Bench, bench } from "./build/bench.ts";
import {
  cluster,
  finalizedBy,
  inNamespace,
  labelled,
  metal3Machine,
  metal3MachineTemplate,
  withUid,
} from "./build/objects.ts";

// Witnesses forged, stale, recreated, switched to another template, Terminating and elsewhere; referrers that appear
// while a look reads; pages that fail or expire in the middle; events that arrive together, late, twice or never.
type Step =
  | {
      readonly does: "create-template" | "delete-template" | "delete-machine" | "finish-machine" | "recreate-machine";
      readonly at: number;
    }
  | {
      readonly does: "create-machine" | "switch-machine" | "forge" | "appear";
      readonly at: number;
      readonly to: number;
    }
  | { readonly does: "fail" | "expire"; readonly at: number }
  | { readonly does: "deliver" | "deliver-again" | "lose" | "deliver-together"; readonly at: number }
  | { readonly does: "sweep" };

const at = fc.nat(7);
const one = <Does extends string>(...does: readonly Does[]) => fc.record({ does: fc.constantFrom(...does), at });
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: one("create-template", "delete-template", "recreate-machine") },
  { weight: 4, arbitrary: one("delete-machine", "finish-machine") },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constantFrom("create-machine" as const, "switch-machine" as const, "forge" as const, "appear" as const),
      at,
      to: at,
    }),
  },
  { weight: 3, arbitrary: one("fail", "expire") },
  { weight: 9, arbitrary: one("deliver", "deliver-again", "lose", "deliver-together") },
  { weight: 1, arbitrary: fc.constant({ does: "sweep" as const }) },
);

const HOMES = ["sylva", "other"];
const home = (index: number) => HOMES[index % 2] ?? "";
const KINDS = ["Metal3MachineTemplate", "Metal3Machine"];

interface World {
  readonly b: Bench;
  readonly queue: StoreChange[];
  /** What happens in the middle of the next list. */
  readonly meanwhile: (() => Promise<void>)[];
}

/** Pages of one object each, so that there is a middle. */
function paged(inner: Cluster, meanwhile: (() => Promise<void>)[]): Cluster {
  return {
    ...inner,
    async *pages(kind, options) {
      for (const object of await inner.list(kind, options)) {
        yield [object];
        if (KINDS.includes(kind.kind)) await meanwhile.shift()?.();
      }
    },
  };
}

function startWorld(): World {
  const meanwhile: (() => Promise<void>)[] = [];
  const b = bench(
    HOMES.map((where) => inNamespace(cluster(), where)),
    {},
    (inner) => paged(inner, meanwhile),
  );
  const queue: StoreChange[] = [];
  b.cluster.onChange((change) => queue.push(change));
  return { b, queue, meanwhile };
}

test("whatever witnesses are noted and whatever happens during a look -> no template is lost to a machine made from it, and once quiet all unneeded ones are gone", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 10, maxLength: 50 }), async (steps) => {
      const world = startWorld();
      for (const step of steps) await take(world, step);
      world.meanwhile.length = 0;
      const { b } = world;
      for (let round = 0; round < 6; round += 1) {
        await b.sweep(retain);
        await b.sweep(collect);
        b.pass({ minutes: 11 });
      }
      const orphans = machines(b).filter((machine) => templateOf(b, machine) === undefined);
      expect(orphans.map(({ metadata }) => metadata.name)).toEqual([]);
      const left = templates(b).filter((template) => isRetired(template) && !isUsed(b, template));
      expect(left.map((template) => keyText(keyOf(template)))).toEqual([]);
    }),
    { numRuns: 500 },
  );
}, 60_000);

async function take(world: World, step: Step): Promise<void> {
  const { b } = world;
  switch (step.does) {
    case "create-template":
      return void (await tolerating(() =>
        b.cluster.create(fresh(metal3MachineTemplate(`t${step.at % 3}`), home(step.at))),
      ));
    case "delete-template": {
      const template = pick(templates(b), step.at);
      if (template === undefined || isTerminating(template)) return;
      const held = hasHold(template) ? template : await b.cluster.patch(template, { metadata: { finalizers: [HOLD] } });
      return held && b.cluster.delete(held);
    }
    case "create-machine":
      return createMachine(b, step.at, step.to);
    case "appear":
      return void world.meanwhile.push(() => createMachine(b, step.at, step.to));
    case "fail":
      return breakOff(world, step.at, new ClusterError("unavailable", "cut"));
    case "expire":
      return breakOff(world, step.at, new ClusterError("expired", "compacted"));
    case "sweep":
      return void (await tolerating(() => b.sweep(collect)));
    case "forge":
      return forge(b, step.at, step.to);
    case "delete-machine":
    case "finish-machine":
    case "recreate-machine":
    case "switch-machine":
      return changeMachine(b, step);
    default:
      return deliver(world, step.does, step.at);
  }
}

/** The looks that follow, before and after a drop, break off in the middle, some of them several times. */
function breakOff({ meanwhile }: World, times: number, error: ClusterError): void {
  for (let left = times; left >= 0; left -= 1) meanwhile.push(async () => Promise.reject(error));
}

async function deliver({ b, queue }: World, does: string, index: number): Promise<void> {
  const first = queue.length === 0 ? 0 : index % queue.length;
  const count = does === "deliver-together" ? 5 : 1;
  const changes = queue.slice(first, first + count);
  if (does !== "deliver-again") queue.splice(first, count);
  if (does === "lose") return;
  await Promise.all(
    changes.map(({ type, object }) =>
      tolerating(async () => {
        await b.send(retain, type, object);
        await b.send(collect, type, object);
      }),
    ),
  );
}

async function createMachine(b: Bench, index: number, to: number): Promise<void> {
  const from = pick(templates(b), to);
  if (from === undefined) return;
  const machine = finalizedBy(metal3Machine(`m${index}`, { clonedFrom: from }), "metal3");
  await tolerating(() => b.cluster.create(fresh(machine, from.metadata.namespace ?? "")));
}

async function changeMachine(b: Bench, { does, at: index, ...rest }: Step & { readonly at: number }): Promise<void> {
  const machine = pick(machines(b), index);
  if (machine === undefined) return;
  if (does === "delete-machine") return b.cluster.delete(machine);
  if (does === "finish-machine" && !isTerminating(machine)) return;
  if (does === "switch-machine") {
    const to = pick(
      templates(b).filter(({ metadata }) => metadata.namespace === machine.metadata.namespace),
      "to" in rest ? rest.to : 0,
    );
    if (to !== undefined)
      await b.cluster.patch(machine, { metadata: { annotations: { [CLONED_FROM_NAME]: to.metadata.name } } });
    return;
  }
  // Gone, and where it is made anew, under another uid.
  const released = await b.cluster.patch(machine, { metadata: { finalizers: null } });
  if (released !== undefined) await b.cluster.delete(released);
  if (does === "recreate-machine" && templateOf(b, machine) !== undefined) {
    await tolerating(() =>
      b.cluster.create(
        fresh(
          { ...machine, metadata: { ...machine.metadata, deletionTimestamp: null } },
          machine.metadata.namespace ?? "",
        ),
      ),
    );
  }
}

async function forge(b: Bench, index: number, to: number): Promise<void> {
  const template = pick(templates(b).filter(isRetired), index);
  if (template === undefined) return;
  const notes = [
    `infrastructure.cluster.x-k8s.io/Metal3Machine/${home(to)}/m${to}`,
    keyText(keyOf(template)),
    `/Secret/${home(to)}/s`,
    "cluster.x-k8s.io/MachineSet/sylva/nothing",
  ];
  const note = to === 7 ? "{" : JSON.stringify(notes.slice(to % 4).concat(notes));
  await b.cluster.patch(template, { metadata: { annotations: { [NEEDED_BY]: note } } });
}

function isUsed(b: Bench, template: KubeObject): boolean {
  return machines(b).some((machine) => templateOf(b, machine) === template);
}

function templateOf(b: Bench, machine: KubeObject): KubeObject | undefined {
  const { namespace, annotations } = machine.metadata;
  return templates(b).find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === annotations?.[CLONED_FROM_NAME],
  );
}

function templates(b: Bench): readonly KubeObject[] {
  return b.cluster.all().filter((object) => isTemplateKind(keyOf(object)));
}

function machines(b: Bench): readonly KubeObject[] {
  return b.cluster.all().filter(({ kind }) => kind === "Metal3Machine");
}

function fresh(object: KubeObject, where: string): KubeObject {
  return labelled(withUid(inNamespace(object, where), ""), { "cluster.x-k8s.io/cluster-name": "mgmt" });
}

function pick(among: readonly KubeObject[], index: number): KubeObject | undefined {
  return among[index % Math.max(among.length, 1)];
}

/** The Broker sends again what failed, or does not; nothing may depend on it. */
async function tolerating(act: () => Promise<unknown>): Promise<void> {
  await act().catch(() => undefined);
}
