import { beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./harness/api-types.ts";
import { startCapi } from "./harness/capi.ts";
import { bootstrapVersion, controlPlaneVersion, ownedBy } from "./harness/capi-objects.ts";
import { clusterctl } from "./harness/clusterctl.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { conditionOf, type KubeObject, type ObjectRef, refOf, valueAt } from "./harness/objects.ts";
import { startStandIn } from "./harness/stand-in.ts";
import { stays } from "./harness/wait.ts";
import { type Adopter, adopt, adoptionRefused, paused, startAdopter } from "./scenario/adopter.ts";
import { metal3Version } from "./scenario/caretakers.ts";
import { controlPlaneLabel, kubeadmControlPlane, startKubelets } from "./scenario/kubeadm-control-plane.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import { notesOn } from "./scenario/rewriter.ts";
import {
  controllerOf,
  createStanding,
  machinesIn,
  notExactly,
  type Standing,
  type StandingOptions,
  stampsOf,
  untilAdopted,
} from "./scenario/standing-machines.ts";

const twoMinutes = 120_000;
const ownerLabel = "cluster.x-k8s.io/control-plane-name";
const held = { [paused]: "true" };
const optedIn = { ...held, [adopt]: "true" };

let main: ControlPlane;
let api: Api;

beforeAll(async () => {
  main = await startManagementCluster();
  api = main.api;
  await startCapi("capi-core", main);
  await startCapi("capi-kubeadm-control-plane", main);
  startStandIn(api);
  await startKubelets(api, api);
});

/** What a person does by hand to have the control plane see some of the machines. */
async function labelByHand(objects: readonly (KubeObject | undefined)[], label = controlPlaneLabel): Promise<void> {
  for (const object of objects) {
    if (object !== undefined) await api.mergePatch(refOf(object), { metadata: { labels: { [label]: "" } } });
  }
}

async function annotate(ref: ObjectRef, annotations: Record<string, string | null>): Promise<void> {
  await api.mergePatch(ref, { metadata: { annotations } });
}

/** Waits until Cluster API has done with a new cluster what it does before a control plane may adopt. */
async function untilReadyToAdopt({ namespace, plane, cluster }: Standing): Promise<void> {
  await inTime(`the control plane of ${namespace} to be owned by its Cluster`, async () => {
    const live = await api.get(cluster);
    const isProvisioned = valueAt(live, "status", "initialization", "infrastructureProvisioned") === true;
    const owners = (await api.get(refOf(plane)))?.metadata.ownerReferences ?? [];
    return isProvisioned && owners.some(({ kind }) => kind === "Cluster");
  });
}

/** Waits until a Cluster that is paused has been seen so by the controllers of its machines. */
async function pauseCluster({ cluster, namespace }: Standing): Promise<void> {
  await api.mergePatch(cluster, { spec: { paused: true } });
  await inTime(`the machines of ${namespace} to be paused`, async () => {
    const live = await machinesIn(api, namespace);
    const waiting = live.filter((machine) => conditionOf(machine, "Paused")?.status !== "True");
    // On a busy machine the pause alone was seen not to have every machine looked at; a change of its own does.
    for (const machine of waiting) await annotate(refOf(machine), { "e2e/turn": String(Date.now()) });
    return waiting.length === 0;
  });
}

/** Waits until the real control plane says of each machine that it is as it should be. */
async function untilUpToDate(namespace: string, at = api): Promise<void> {
  await inTime(`the machines of ${namespace} to be up to date`, async () => {
    const live = await machinesIn(at, namespace);
    return live.every((machine) => conditionOf(machine, "UpToDate")?.status === "True");
  });
}

/** What is left of a control plane's opt-in and of our marks. */
async function marksOn(ref: ObjectRef, at = api): Promise<string[]> {
  const annotations = Object.keys((await at.get(ref))?.metadata.annotations ?? {});
  return annotations.filter((name) => name.startsWith("capi-caretaker.io/") || name === paused);
}

describe("without", () => {
  test.concurrent(
    "story 14, without: machines of a restored backup carry neither owners nor labels -> the control plane sees none and makes a new first machine",
    unhurried,
    async () => {
      const standing = await createStanding(api, main, { namespace: "restored", annotations: held });
      await untilReadyToAdopt(standing);
      await annotate(refOf(standing.plane), { [paused]: null });
      const made = await inTime("a fourth machine", async () => {
        const names = standing.machines.map(({ metadata }) => metadata.name);
        return (await machinesIn(api, "restored")).find(({ metadata }) => !names.includes(metadata.name));
      });
      const name = String(valueAt(made, "spec", "bootstrap", "configRef", "name"));
      const config = await api.get({
        apiVersion: bootstrapVersion,
        kind: "KubeadmConfig",
        namespace: "restored",
        name,
      });
      expect(valueAt(config, "spec", "initConfiguration")).toBeDefined();
      expect(controllerOf(made)).toBeDefined();
    },
  );

  test.concurrent(
    "without: two of three machines are labelled by hand -> the control plane makes a new machine, and deletes an original once the third is labelled",
    unhurried,
    async () => {
      const standing = await createStanding(api, main, { namespace: "partly", annotations: held });
      const { machines, configs, plane } = standing;
      const names = machines.map(({ metadata }) => metadata.name);
      await untilReadyToAdopt(standing);
      await labelByHand([...machines.slice(0, 2), ...configs.slice(0, 2)]);
      await annotate(refOf(plane), { [paused]: null });
      await inTime("a fourth machine", async () => {
        const live = await machinesIn(api, "partly");
        const made = live.find(({ metadata }) => !names.includes(metadata.name));
        if (made !== undefined) return made;
        throw new Error(`the control plane says ${JSON.stringify(valueAt(await api.get(refOf(plane)), "status"))}`);
      });
      await labelByHand([...machines.slice(2), ...configs.slice(2)]);
      await inTime("an original to be deleted", async () => {
        const live = await machinesIn(api, "partly");
        const staying = live.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
        return !names.every((name) => staying.some(({ metadata }) => metadata.name === name));
      });
    },
  );

  test.concurrent(
    "story 15, without: control-plane-name is put on machines that nobody adopts -> they have no Cluster as owner and outlast its deletion",
    unhurried,
    async () => {
      const standing = await createStanding(api, main, { namespace: "named" });
      const { machines, cluster } = standing;
      await labelByHand(machines);
      await labelByHand(machines, ownerLabel);
      // As a restored backup has them.
      for (const machine of machines) await api.mergePatch(refOf(machine), { metadata: { ownerReferences: null } });
      await api.delete(cluster);
      await stays(
        "the orphaned machines",
        async () => {
          if ((await api.get(cluster)) === undefined) return "the Cluster is gone";
          const live = await machinesIn(api, "named");
          if (live.some(({ metadata }) => (metadata.ownerReferences ?? []).length > 0)) return "they have an owner";
          return notExactly(api, "named", machines);
        },
        { forMs: 20_000 },
      );
    },
  );

  test.concurrent(
    "without: the CA is missing and all machines are labelled by hand -> the control plane makes a CA that they do not trust",
    unhurried,
    async () => {
      const standing = await createStanding(api, main, { namespace: "new-ca", annotations: held });
      const { machines, configs, plane } = standing;
      await untilReadyToAdopt(standing);
      const ca: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: "new-ca", name: "new-ca-ca" };
      await api.delete(ca);
      await labelByHand([...machines, ...configs]);
      await annotate(refOf(plane), { [paused]: null });
      await inTime("another CA", async () => api.get(ca));
    },
  );
});

interface Refused {
  reason: string;
  options?: Omit<StandingOptions, "namespace">;
  /** What else is wrong with a cluster that is otherwise fit. */
  spoil?: (standing: Standing) => Promise<unknown>;
}

/** Makes another control plane the controller of one of the machines. */
async function giveAway({ namespace, machines: [machine] }: Standing): Promise<void> {
  const infrastructure = metal3MachineTemplate({ namespace, name: "other", version: "v1beta1" });
  const other = await api.create(kubeadmControlPlane({ namespace, name: "other", infrastructure }));
  const live = machine && (await api.get(refOf(machine)));
  if (live === undefined) throw new Error("the machine is gone");
  const ownerReferences = [...(live.metadata.ownerReferences ?? []), ownedBy(other, true)];
  await api.mergePatch(refOf(live), { metadata: { ownerReferences } });
}

const refused: readonly (readonly [situation: string, Refused])[] = [
  [
    "a machine is three minor versions behind",
    { reason: "version-skew-too-large", options: { versions: { 2: "v1.33.0" } } },
  ],
  ["another control plane is the controller of a machine", { reason: "mixed-management", spoil: giveAway }],
  [
    "the CA secret is missing",
    {
      reason: "secret-missing",
      spoil: ({ namespace }) => api.delete({ apiVersion: "v1", kind: "Secret", namespace, name: `${namespace}-ca` }),
    },
  ],
  ["the control plane wants five machines", { reason: "replicas-mismatch", options: { replicas: 5 } }],
  [
    "the config of a machine differs",
    { reason: "would-roll-out", options: { configs: { 1: { preKubeadmCommands: ["echo one"] } } } },
  ],
];

describe("with", () => {
  let adopter: Adopter;
  let target: ControlPlane;

  beforeAll(async () => {
    adopter = await startAdopter(main);
    target = await startManagementCluster({ name: "target" });
    // The workload cluster stays where it is, which here is on the source's API server.
    startStandIn(target.api, { workload: api });
    await startCapi("capi-core", target);
    await startCapi("capi-kubeadm-control-plane", target);
  });

  test.concurrent(
    "story 14: a control plane is opted in beside machines without owners and labels -> adopted by the real one, no machine comes or goes in two minutes, opt-in gone",
    unhurried,
    async () => {
      const { machines, configs, plane } = await createStanding(api, main, {
        namespace: "whole",
        annotations: optedIn,
      });
      await untilAdopted(api, refOf(plane), machines);
      await stays("the machines", () => notExactly(api, "whole", machines), { forMs: twoMinutes });
      expect(await marksOn(refOf(plane))).toEqual([]);
      const live = await Promise.all([...machines, ...configs].map((one) => api.get(refOf(one))));
      expect(live.map((one) => one?.metadata.uid)).toEqual([...machines, ...configs].map((one) => one.metadata.uid));
      await untilUpToDate("whole");
      expect(await notesOn(api, plane, "Adopted")).toHaveLength(1);
    },
  );

  test.concurrent(
    "machines were adopted and clusterctl moves the cluster -> the control plane there owns every machine, and no mark of ours came along",
    unhurried,
    async () => {
      const standing = await createStanding(api, main, { namespace: "moved", annotations: optedIn });
      const { machines, plane } = standing;
      await untilAdopted(api, refOf(plane), machines);
      await inTime("the opt-in to be gone and all nodes to be known", async () => {
        const live = await machinesIn(api, "moved");
        return (await marksOn(refOf(plane))).length === 0 && live.every((one) => valueAt(one, "status", "nodeRef"));
      });
      const to = ["--to-kubeconfig", target.kubeconfig, "--namespace", "moved"];
      const { code, stderr } = await clusterctl(["move", "--kubeconfig", main.kubeconfig, ...to]);
      expect(code, stderr).toBe(0);
      const infrastructure = { apiVersion: metal3Version, kind: "Metal3Cluster", namespace: "moved", name: "moved" };
      await target.api.patchStatus(infrastructure, { ready: true });
      await untilAdopted(target.api, refOf(plane), machines);
      await untilUpToDate("moved", target.api);
      await stays("the machines", () => notExactly(target.api, "moved", machines), { forMs: 20_000 });
      await untilAdopted(target.api, refOf(plane), machines);
      expect(await marksOn(refOf(plane), target.api)).toEqual([]);
      expect(await machinesIn(api, "moved")).toEqual([]);
    },
  );

  test.concurrent(
    "a Cluster without a control plane is opted in -> one is written, adopts every machine and finds all of them up to date",
    unhurried,
    async () => {
      const { machines, cluster } = await createStanding(api, main, { namespace: "prepared" });
      await annotate(cluster, { [adopt]: "true" });
      const name = "prepared-control-plane";
      const plane = { apiVersion: controlPlaneVersion, kind: "KubeadmControlPlane", namespace: "prepared", name };
      await untilAdopted(api, plane, machines);
      await untilUpToDate("prepared");
      await stays("the machines", () => notExactly(api, "prepared", machines), { forMs: 30_000 });
      await untilUpToDate("prepared");
      await inTime("the opt-in to be gone", async () => (await marksOn(plane)).length === 0);
      expect(await marksOn(cluster)).toEqual([]);
      expect(valueAt(await api.get(cluster), "spec", "controlPlaneRef", "name")).toBe(name);
    },
  );

  test.concurrent(
    "story 15: machines were labelled and nobody adopted them -> no control-plane-name, so their Cluster still owns them and its deletion takes them along",
    unhurried,
    async () => {
      const standing = await createStanding(api, main, { namespace: "unadopted", annotations: held });
      const { cluster, plane } = standing;
      await untilReadyToAdopt(standing);
      await pauseCluster(standing);
      await annotate(refOf(plane), { [adopt]: "true" });
      await inTime("all machines to be labelled", async () => {
        const isUnpaused = (await api.get(refOf(plane)))?.metadata.annotations?.[paused] === undefined;
        const live = await machinesIn(api, "unadopted");
        return isUnpaused && live.every(({ metadata }) => metadata.labels?.[controlPlaneLabel] !== undefined);
      });
      for (const { metadata } of await machinesIn(api, "unadopted")) {
        expect(metadata.labels).not.toHaveProperty([ownerLabel]);
        expect(metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(["Cluster"]);
      }
      await api.delete(refOf(plane));
      await api.jsonPatch(cluster, [
        { op: "remove", path: "/spec/controlPlaneRef" },
        { op: "remove", path: "/spec/paused" },
      ]);
      await api.delete(cluster);
      await inTime("the Cluster and its machines to be gone", async () => {
        return (await api.get(cluster)) === undefined && (await machinesIn(api, "unadopted")).length === 0;
      });
    },
  );

  test.concurrent.each(refused)(
    "%s -> refused, and nothing of the machines is touched",
    unhurried,
    async (_, { reason, options, spoil }) => {
      const standing = await createStanding(api, main, { ...options, namespace: reason, annotations: held });
      await untilReadyToAdopt(standing);
      await pauseCluster(standing);
      await spoil?.(standing);
      const before = await stampsOf(api, standing);
      const plane = refOf(standing.plane);
      await annotate(plane, { [adopt]: "true" });
      await inTime(
        "the refusal",
        async () => (await api.get(plane))?.metadata.annotations?.[adoptionRefused] === reason,
      );
      await adopter.sweep();
      const [note] = await inTime("an Event", async () => {
        const notes = await notesOn(api, standing.plane, "AdoptionRefused");
        return notes.length > 0 && notes;
      });
      expect(note).toContain(`${reason}: `);
      expect((await api.get(plane))?.metadata.annotations?.[paused]).toBe("true");
      expect(await stampsOf(api, standing)).toEqual(before);
    },
  );
});
