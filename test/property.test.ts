import fc from "fast-check";
import { expect, test } from "vitest";
import { handle as collect } from "../functions/collect-templates/index.ts";
import { handle as retain } from "../functions/retain-templates/index.ts";
import type { Handle } from "../shared/acts/context.ts";
import type { StoreChange } from "../shared/cluster/snapshot/store.ts";
import { CLONED_FROM_GROUPKIND, CLONED_FROM_NAME, HOLD, hasHold, isRetired } from "../shared/marks/marks.ts";
import { isTemplateKind } from "../shared/objects/kinds.ts";
import { groupOf, isTerminating, type KubeObject, keyOf, keyText } from "../shared/objects/object.ts";
import { type Bench, bench } from "./build/bench.ts";
import {
  cluster,
  finalizedBy,
  inNamespace,
  kubeadmConfigTemplate,
  labelled,
  machineDeployment,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  withUid,
} from "./build/objects.ts";

// What people and other controllers do, and what becomes of our events. Numbers choose among what there is.
type Step =
  | {
      readonly does: "create-template" | "create-machine" | "switch" | "delete-template";
      readonly which: number;
      readonly to: number;
    }
  | { readonly does: "delete-machine" | "finish-machine"; readonly which: number }
  | { readonly does: "pause" | "unpause" | "sweep-retain" | "sweep-collect" }
  | { readonly does: "pass"; readonly minutes: number }
  | { readonly does: "deliver" | "deliver-again" | "lose"; readonly which: number };

const which = fc.nat(11);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: step("create-template") },
  { weight: 4, arbitrary: step("create-machine") },
  { weight: 3, arbitrary: step("switch") },
  { weight: 4, arbitrary: step("delete-template") },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constantFrom("delete-machine" as const, "finish-machine" as const), which }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom("pause" as const, "unpause" as const) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constantFrom("sweep-retain" as const, "sweep-collect" as const) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("pass" as const), minutes: fc.constantFrom(1, 3, 11, 90) }) },
  {
    weight: 9,
    arbitrary: fc.record({
      does: fc.constantFrom("deliver" as const, "deliver-again" as const, "lose" as const),
      which,
    }),
  },
);

function step(does: "create-template" | "create-machine" | "switch" | "delete-template"): fc.Arbitrary<Step> {
  return fc.record({ does: fc.constant(does), which, to: which });
}

// Two namespaces with the same names, and one name for three kinds.
const NAMES = ["a", "b", "c"];
const HOMES = ["sylva", "other"];
const home = (index: number) => HOMES[index % 2] ?? "";
const nameOf = (index: number) => NAMES[index % 3] ?? "";

function templateAt(index: number, to: number): KubeObject {
  const data = metal3DataTemplate(nameOf(to));
  const kinds = [
    metal3MachineTemplate(nameOf(index), { uses: data }),
    metal3DataTemplate(nameOf(index)),
    kubeadmConfigTemplate(nameOf(index)),
  ];
  return fresh(inNamespace(kinds[index % kinds.length] ?? data, home(to)));
}

function fresh(one: KubeObject): KubeObject {
  return labelled(withUid(one, ""), { "cluster.x-k8s.io/cluster-name": "mgmt" });
}

test("whatever happens and whatever events are lost -> no needed template disappears, nothing unretired is deleted, and in the end every retired unneeded template is gone", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 10, maxLength: 60 }), async (steps) => {
      const b = bench(HOMES.map((where) => inNamespace(cluster(), where)));
      const queue: StoreChange[] = [];
      b.cluster.onChange((change) => queue.push(change));
      for (const one of steps) await take(b, queue, one);
      await quieten(b);
      const left = templates(b).filter((one) => isRetired(one) && !isNeeded(one, b.cluster.all()));
      expect(left.map((one) => keyText(keyOf(one)))).toEqual([]);
    }),
    { numRuns: 250 },
  );
}, 60_000);

async function take(b: Bench, queue: StoreChange[], one: Step): Promise<void> {
  switch (one.does) {
    case "create-template":
      return void (await attempt(() => b.cluster.create(templateAt(one.which, one.to))));
    case "create-machine":
      return createMachine(b, one.which, one.to);
    case "switch":
      return switchDeployment(b, one.which, one.to);
    case "delete-template":
      return deleteOne(b, templates(b), one.which);
    case "delete-machine":
      return deleteOne(b, machines(b), one.which);
    case "finish-machine": {
      const leaving = pick(machines(b).filter(isTerminating), one.which);
      if (leaving !== undefined) await b.cluster.patch(leaving, { metadata: { finalizers: null } });
      return;
    }
    case "pause":
    case "unpause":
      return setPaused(b, one.does === "pause");
    case "pass":
      return b.pass({ minutes: one.minutes });
    case "sweep-retain":
      return guarded(b, () => b.sweep(retain));
    case "sweep-collect":
      return guarded(b, () => b.sweep(collect));
    default:
      return deliver(b, queue, one.does, one.which);
  }
}

async function deliver(b: Bench, queue: StoreChange[], does: "deliver" | "deliver-again" | "lose", index: number) {
  const at = queue.length === 0 ? 0 : index % queue.length;
  const change = queue[at];
  if (change === undefined) return;
  if (does !== "deliver-again") queue.splice(at, 1);
  if (does === "lose") return;
  for (const handle of [retain, collect] satisfies Handle[]) {
    await guarded(b, () => b.send(handle, change.type, change.object));
  }
}

/** Runs a function and holds what it did against rules told in other words than the code's. */
async function guarded(b: Bench, run: () => Promise<unknown>): Promise<void> {
  const before = new Map(b.cluster.all().map((one) => [keyText(keyOf(one)), one]));
  const seen = b.changes.length;
  await run();
  for (const { type, object } of b.changes.slice(seen)) {
    const earlier = before.get(keyText(keyOf(object)));
    const isOurDeletion = isTemplateKind(keyOf(object)) && (type === "delete" || isTerminating(object));
    if (isOurDeletion && earlier !== undefined)
      expect(isRetired(earlier), `${keyText(keyOf(object))} retired`).toBe(true);
  }
  const after = b.cluster.all();
  for (const one of before.values()) {
    if (isTemplateKind(keyOf(one)) && isNeeded(one, after)) {
      const live = await b.cluster.get(keyOf(one));
      expect(live, `${keyText(keyOf(one))} is needed`).toBeDefined();
      // Not even for a moment, but where it is wanted again and comes back unretired.
      const isTheSame = live?.metadata.uid === one.metadata.uid || (live !== undefined && !isRetired(live));
      expect(isTheSame, `${keyText(keyOf(one))} was replaced`).toBe(true);
    }
  }
}

/** By definition, in its plainest form: a chain of references from something that is no retired template. */
function isNeeded(template: KubeObject, all: readonly KubeObject[], seen: readonly string[] = []): boolean {
  const own = keyText(keyOf(template));
  if (seen.includes(own)) return false;
  return all.some((one) => {
    if (
      one.metadata.namespace !== template.metadata.namespace ||
      !names(one).includes(`${template.kind} ${template.metadata.name}`)
    )
      return false;
    return !isTemplateKind(keyOf(one)) || !isRetired(one) || isNeeded(one, all, [...seen, own]);
  });
}

function names(one: KubeObject): readonly string[] {
  const text = JSON.stringify(one.spec ?? {});
  const inSpec = [...text.matchAll(/"kind":"(\w+Template)","name":"(\w+)"/g)].map(
    ([, kind, name]) => `${kind} ${name}`,
  );
  const data = [...text.matchAll(/"dataTemplate":\{"name":"(\w+)"\}/g)].map(([, name]) => `Metal3DataTemplate ${name}`);
  const { [CLONED_FROM_NAME]: name, [CLONED_FROM_GROUPKIND]: kind = "" } = one.metadata.annotations ?? {};
  return [...inSpec, ...data, ...(name === undefined ? [] : [`${kind.split(".")[0]} ${name}`])];
}

async function quieten(b: Bench): Promise<void> {
  await setPaused(b, false);
  for (let round = 0; round < 8; round += 1) {
    await guarded(b, () => b.sweep(retain));
    await guarded(b, () => b.sweep(collect));
    b.pass({ minutes: 11 });
  }
}

async function createMachine(b: Bench, index: number, to: number): Promise<void> {
  const from = pick(
    templates(b).filter(({ kind }) => kind === "Metal3MachineTemplate"),
    to,
  );
  if (from === undefined) return;
  const uses = metal3DataTemplate(nameOf(index));
  const machine = finalizedBy(metal3Machine(`m${index}`, { clonedFrom: from, uses }), "metal3");
  await attempt(() => b.cluster.create(fresh(inNamespace(machine, from.metadata.namespace ?? ""))));
}

async function switchDeployment(b: Bench, index: number, to: number): Promise<void> {
  const uses = [metal3MachineTemplate(nameOf(to)), kubeadmConfigTemplate(nameOf(index))];
  const wanted = fresh(inNamespace(machineDeployment("md", { uses }), home(index)));
  const live = await b.cluster.get(keyOf(wanted));
  if (live === undefined) await b.cluster.create(wanted);
  else await b.cluster.patch(live, { spec: wanted.spec });
}

async function deleteOne(b: Bench, among: readonly KubeObject[], index: number): Promise<void> {
  const one = pick(among, index);
  if (one === undefined) return;
  // A template that got away unheld is another test's: here its owner's deletion meets a hold.
  const held =
    isTemplateKind(keyOf(one)) && !hasHold(one) && !isTerminating(one)
      ? await b.cluster.patch(one, { metadata: { finalizers: [HOLD] } })
      : one;
  if (held !== undefined) await b.cluster.delete(held);
}

async function setPaused(b: Bench, paused: boolean): Promise<void> {
  for (const where of HOMES) await b.cluster.patch(await b.live(inNamespace(cluster(), where)), { spec: { paused } });
}

function templates(b: Bench): readonly KubeObject[] {
  return b.cluster.all().filter((one) => isTemplateKind(keyOf(one)));
}

function machines(b: Bench): readonly KubeObject[] {
  return b.cluster.all().filter((one) => one.kind === "Metal3Machine" && groupOf(one.apiVersion).startsWith("infra"));
}

function pick<Item>(among: readonly Item[], index: number): Item | undefined {
  return among[index % Math.max(among.length, 1)];
}

async function attempt(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    expect(String(error)).toMatch(/already exists/);
  }
}
