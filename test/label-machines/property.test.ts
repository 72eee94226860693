import fc from "fast-check";
import { expect, test } from "vitest";
import { handle } from "../../functions/label-machines/index.ts";
import { CONTROL_PLANE_LABEL } from "../../functions/label-machines/marks.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import type { SnapshotCluster } from "../../shared/cluster/snapshot/cluster.ts";
import { annotation, label, PAUSED } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import { ownedBy } from "../build/objects.ts";
import { changed, cluster, config, kcp, machine, NAMES, secrets, withExistence, world } from "./build.ts";

type Fate = "done" | "lost" | "answer-lost" | "conflict";
type Step =
  | { readonly act: "event"; readonly about: number }
  | { readonly act: "sweep" | "break" | "mend" | "unlabel" | "adopt" | "pause" | "pause-cluster" | "unpause-cluster" };

const members = NAMES.flatMap((name) => [machine(name), config(name)]);
const subjects = [kcp, cluster, ...members];
const [ca = kcp] = secrets;

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ act: fc.constant("event" as const), about: fc.nat(subjects.length - 1) }) },
    fc.record({
      act: fc.constantFrom("sweep", "break", "mend", "unlabel", "adopt", "pause", "pause-cluster", "unpause-cluster"),
    }),
  ) as fc.Arbitrary<Step>,
  { minLength: 1, maxLength: 12 },
);
const fates = fc.array(fc.constantFrom<Fate>("done", "done", "done", "lost", "answer-lost", "conflict"), {
  maxLength: 30,
});

const isSeen = (one: KubeObject) => label(one, CONTROL_PLANE_LABEL) !== undefined;

/** What stands in the store at this moment: every member labelled, on its Machine and its config. */
function allSeen(inner: SnapshotCluster): boolean {
  const names = new Set(members.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
  return inner.all().every((one) => !names.has(`${one.kind}/${one.metadata.name}`) || isSeen(one));
}

/** Deals out the fates of writes, and notes each one that must never be sent. */
function watched(inner: Cluster, queue: Fate[], store: () => SnapshotCluster, harms: string[]): Cluster {
  const patch: Cluster["patch"] = async (object, change) => {
    const fate = queue.shift() ?? "done";
    if (fate === "lost") throw new ClusterError("unavailable", "lost");
    if (fate === "conflict") throw new ClusterError("conflict", "changed meanwhile");
    harms.push(...harmsOf(object, JSON.stringify(change), store()));
    const result = await inner.patch(object, change);
    if (fate === "answer-lost") throw new ClusterError("unavailable", "answer lost");
    return result;
  };
  return Object.assign({}, inner, { patch });
}

function harmsOf({ kind }: KubeObject, change: string, store: SnapshotCluster): readonly string[] {
  const removesPause = change.includes(`"${PAUSED}":null`);
  const takesLabelOff = change.includes(`"${CONTROL_PLANE_LABEL}":null`);
  return [
    ...(removesPause && kind === "Cluster" ? ["a Cluster's pause was removed"] : []),
    ...(removesPause && !allSeen(store) ? ["unpaused before all were labelled"] : []),
    ...(takesLabelOff && !isHeld(store) ? ["unlabelled while the control plane could act"] : []),
  ];
}

function isHeld(inner: SnapshotCluster): boolean {
  return inner.all().some((one) => {
    const isOwner = one.kind === "KubeadmControlPlane" || one.kind === "Cluster";
    return isOwner && annotation(one, PAUSED) !== undefined;
  });
}

async function take(on: Bench, step: Step): Promise<void> {
  switch (step.act) {
    case "event":
      return run(on, () => on.live(subjects[step.about] ?? kcp));
    case "sweep":
      await on.sweep(handle).catch(onlyLost);
      return;
    case "break":
      if (await on.has(ca)) await on.cluster.delete(await on.live(ca));
      return;
    case "mend":
      if (!(await on.has(ca))) await on.cluster.create(ca);
      return;
    case "unlabel":
      return mark(on, config("cp-2"), { labels: { [CONTROL_PLANE_LABEL]: null } });
    case "adopt":
      return adoptWhatMayBe(on);
    case "pause":
      return mark(on, kcp, { annotations: { [PAUSED]: "true" } });
    case "pause-cluster":
      return mark(on, cluster, { annotations: { [PAUSED]: "true" } });
    case "unpause-cluster":
      return mark(on, cluster, { annotations: { [PAUSED]: null } });
    default:
      return step satisfies never;
  }
}

async function run(on: Bench, about: () => Promise<KubeObject>): Promise<void> {
  const one = await about();
  await on.send(handle, "update", one).catch(onlyLost);
}

async function mark(on: Bench, of: KubeObject, metadata: Record<string, unknown>): Promise<void> {
  await on.cluster.patch(await on.live(of), { metadata });
}

/** The control plane takes what it sees, as soon as nothing holds it still. */
async function adoptWhatMayBe(on: Bench): Promise<void> {
  if (isHeld(on.cluster) || !allSeen(on.cluster)) return;
  for (const name of NAMES) {
    const live = await on.live(machine(name));
    const isOwned = live.metadata.ownerReferences?.some(({ controller }) => controller);
    if (!isOwned) await on.cluster.patch(live, { metadata: ownedBy(live, kcp, true).metadata });
  }
}

function onlyLost(error: unknown): void {
  const failures: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  if (!failures.every((one) => one instanceof ClusterError)) throw error;
}

function harmed(queue: readonly Fate[]): { readonly on: Bench; readonly harms: string[] } {
  const harms: string[] = [];
  let store: SnapshotCluster | undefined;
  const dealt = [...queue];
  const storeOf = () => {
    if (store === undefined) throw new Error("no store yet");
    return store;
  };
  const on = bench(world(), {}, (inner) => watched(withExistence(inner), dealt, storeOf, harms));
  store = on.cluster;
  return { on, harms };
}

test("any order of events and any failures of writes -> never unpaused before all are labelled", async () => {
  await fc.assert(
    fc.asyncProperty(steps, fates, async (order, queue) => {
      const { on, harms } = harmed(queue);
      for (const step of order) await take(on, step);
      expect(harms).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("any failures of writes, then quiet sweeps -> labelled and unpaused", async () => {
  await fc.assert(
    fc.asyncProperty(fates, fc.nat(subjects.length - 1), async (queue, about) => {
      const { on, harms } = harmed(queue);
      for (let turn = 0; turn <= queue.length; turn += 1) {
        await take(on, turn % 2 === 0 ? { act: "event", about } : { act: "sweep" });
      }
      await on.sweep(handle);
      expect(allSeen(on.cluster)).toBe(true);
      expect(isHeld(on.cluster)).toBe(false);
      expect(harms).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

test("the harm is seen where it is done -> the watch of this test works", async () => {
  const { on, harms } = harmed([]);
  await on.context.cluster.patch(await on.live(kcp), { metadata: { annotations: { [PAUSED]: null } } });
  expect(harms).toEqual(["unpaused before all were labelled"]);
  expect(changed(kcp, {})).toEqual(kcp);
});
