import { beforeAll, describe, expect, test } from "vitest";
import { coreVersion } from "./harness/capi-objects.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import type { TemplateLookup } from "./harness/node-reuse.ts";
import { conditionOf, type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { eventually, stays } from "./harness/wait.ts";
import { untilRolledOut } from "./harness/workload.ts";
import { type Caretakers, startCaretakers } from "./scenario/caretakers.ts";
import { valuesOf, writeHashedChart } from "./scenario/hashed-chart.ts";
import { type Journal, startJournal } from "./scenario/journal.ts";
import { isHeld, retiredAt, retiredLabel, untilHeld } from "./scenario/marks.ts";
import { type HelmMajor, install, upgrade } from "./scenario/release.ts";
import { openScene, type Scene, startStage } from "./scenario/stage.ts";
import {
  clonedFrom,
  clonesOf,
  deploymentOf,
  hasNode,
  machinesOf,
  templateNames,
  templatesIn,
  templatesInUse,
  titleOf,
} from "./scenario/workers.ts";

/** A release whose three machines run. */
interface Rollout extends Scene {
  helm: HelmMajor;
  chart: string;
  journal: Journal;
  /** What the first values rendered. */
  old: { machine: string; config: string; titles: string[] };
}

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startStage();
});

async function installed(namespace: string, helm: HelmMajor, lookup: TemplateLookup): Promise<Rollout> {
  const scene = await openScene(controlPlane, namespace, lookup);
  const journal = startJournal(controlPlane.api, namespace);
  const chart = writeHashedChart(namespace);
  await install(scene, helm, chart, valuesOf("one"));
  const deployment = await untilRolledOut(controlPlane.api, await deploymentOf(scene));
  return { ...scene, helm, chart, journal, old: { ...templateNames(deployment), titles: await templatesInUse(scene) } };
}

async function upgraded(rollout: Rollout): Promise<void> {
  await upgrade(rollout, rollout.helm, rollout.chart, valuesOf("two"));
}

/** Machines that are made from the old templates, or from newer ones, and that run. */
async function running(rollout: Rollout, from: "old" | "new"): Promise<KubeObject[]> {
  const clones = await clonesOf(controlPlane.api, rollout.namespace, rollout.old.machine);
  const names = new Set(clones.map(({ metadata }) => metadata.name));
  const machines = await machinesOf(rollout);
  return machines.filter((machine) => {
    const isOld = names.has(String(valueAt(machine, "spec", "infrastructureRef", "name")));
    return isOld === (from === "old") && machine.metadata.deletionTimestamp === undefined && hasNode(machine);
  });
}

async function oldMachineSet({ namespace, old }: Rollout): Promise<KubeObject> {
  const sets = await controlPlane.api.list({ apiVersion: coreVersion, kind: "MachineSet", namespace });
  const found = sets.find((set) => templateNames(set).machine === old.machine);
  if (found === undefined) throw new Error("the old MachineSet is gone");
  return found;
}

/** Rolls on until the one machine that was replaced first has its successor, and holds the others back. */
async function untilOneIsReplaced(rollout: Rollout): Promise<void> {
  const { standIn, old } = rollout;
  let successor: string | undefined;
  standIn.holdProvisioning((machine) => {
    if (clonedFrom(machine) === old.machine) return false;
    successor ??= machine.metadata.name;
    return machine.metadata.name !== successor;
  });
  await upgraded(rollout);
  await eventually("one machine to be replaced", async () => {
    const [before, after] = [await running(rollout, "old"), await running(rollout, "new")];
    return before.length === 2 && after.length === 1 && standIn.records.length === 1;
  });
}

/** Has the rollout stand still with all old machines there, and loses one of them. */
async function loseOneMidRollout(rollout: Rollout): Promise<void> {
  rollout.standIn.holdProvisioning((machine) => clonedFrom(machine) !== rollout.old.machine);
  await upgraded(rollout);
  await eventually("the first new machine to be asked for", async () => (await machinesOf(rollout)).length === 4);
  const [lost] = await running(rollout, "old");
  if (lost === undefined) throw new Error("no old machine runs");
  await controlPlane.api.delete(refOf(lost));
  await eventually("the old machine to be gone", async () => (await controlPlane.api.get(refOf(lost))) === undefined);
}

/** Names the former templates in the MachineDeployment again, as a person does who edits it by hand. */
async function revertByHand(rollout: Rollout): Promise<void> {
  const { machine, config } = rollout.old;
  const spec = { infrastructureRef: { name: machine }, bootstrap: { configRef: { name: config } } };
  await controlPlane.api.mergePatch(refOf(await deploymentOf(rollout)), { spec: { template: { spec } } });
}

function found({ standIn }: Rollout): unknown[] {
  return standIn.records.map((record) => record.found);
}

describe("without the functions", () => {
  test.concurrent.for([
    [3, "annotation"],
    [4, "owner"],
  ] as const)(
    "story 1: Helm %i drops the old templates, looked up by %s -> no released host is reused",
    async ([helm, lookup]) => {
      const rollout = await installed(`without-reuse-${helm}`, helm, lookup);
      await upgraded(rollout);
      await untilRolledOut(controlPlane.api, await deploymentOf(rollout));
      await eventually("three old machines to be gone", () => rollout.standIn.records.length === 3);

      expect(found(rollout)).toEqual(["no-template", "no-template", "no-template"]);
      const { departures } = rollout.journal;
      await eventually("the departures", () => departures().length === 3);
      for (const { after } of departures()) expect(after).toBeGreaterThan(0);
    },
  );

  test.concurrent("an old machine is lost mid-rollout -> it cannot be replaced", async () => {
    const rollout = await installed("without-lost", 3, "annotation");
    await loseOneMidRollout(rollout);

    await eventually("Cluster API to say what it lacks", async () => {
      const condition = conditionOf(await oldMachineSet(rollout), "ScalingUp");
      return condition?.message?.includes("Metal3MachineTemplate does not exist") === true;
    });
    await stays(
      "the gap",
      async () => ((await running(rollout, "old")).length === 2 ? undefined : "the lost machine was replaced"),
      { forMs: 10_000 },
    );
    expect(conditionOf(await deploymentOf(rollout), "Available")?.status).toBe("False");
  });

  test.concurrent("the change is reverted after one machine was replaced -> the rollout wedges unnoticed", async () => {
    const rollout = await installed("without-revert", 4, "annotation");
    await untilOneIsReplaced(rollout);
    await revertByHand(rollout);
    rollout.standIn.release();

    const wedge = async (): Promise<string | undefined> => {
      const set = await oldMachineSet(rollout);
      const [wanted, there] = [valueAt(set, "spec", "replicas"), valueAt(set, "status", "replicas")];
      const deployment = await deploymentOf(rollout);
      const available = conditionOf(deployment, "Available")?.status;
      const counted = valueAt(deployment, "status", "availableReplicas");
      const seen = `MachineSet ${String(there)}/${String(wanted)}, MachineDeployment ${String(counted)} ${available}`;
      return seen === "MachineSet 2/3, MachineDeployment 3 True" ? undefined : seen;
    };
    await eventually("the wedge", async () => (await wedge()) === undefined);
    await stays("the wedge", wedge, { forMs: 15_000 });
  });
});

describe("with the functions", () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    caretakers = await startCaretakers(controlPlane, { env: { COLLECT_GRACE: "PT2S", RENEW_AFTER: "PT2S" } });
  });

  async function installedAndHeld(namespace: string, helm: HelmMajor, lookup: TemplateLookup): Promise<Rollout> {
    const rollout = await installed(namespace, helm, lookup);
    await untilHeld(controlPlane.api, ...(await templatesIn(rollout)));
    return rollout;
  }

  /** Waits until exactly the templates in use are there, live and held, and nothing else is. */
  async function untilOnlyTheUsedAreLeft(rollout: Rollout): Promise<void> {
    await eventually("exactly the templates in use", async () => {
      const [templates, used] = [await templatesIn(rollout), await templatesInUse(rollout)];
      const titles = templates.map(titleOf).toSorted();
      if (titles.join() !== used.toSorted().join()) throw new Error(`there are ${titles.join()}`);
      const unsound = templates.filter(({ metadata }) => {
        const { deletionTimestamp, annotations = {}, labels = {} } = metadata;
        return deletionTimestamp !== undefined || retiredAt in annotations || retiredLabel in labels;
      });
      if (unsound.length > 0) throw new Error(`retired: ${unsound.map(titleOf).join()}`);
      return templates.every(isHeld);
    });
  }

  /** Every template of the first values went, and not before the last machine or config that was made from it. */
  async function expectOrderlyDepartures({ journal, old }: Rollout): Promise<void> {
    const departures = await eventually("the old templates' departures", () => {
      const seen = journal.departures();
      return seen.length === old.titles.length && seen.every(({ after }) => after === 0) ? seen : undefined;
    });
    expect(departures.map(({ template }) => template).toSorted()).toEqual(old.titles.toSorted());
    for (const { before } of departures) expect(before).toBeGreaterThanOrEqual(3);
  }

  test.concurrent.for([
    [3, "annotation"],
    [3, "owner"],
    [4, "annotation"],
    [4, "owner"],
  ] as const)(
    "stories 1 and 3: Helm %i drops the old templates, which Cluster API owns, looked up by %s -> each is there until its last machine is gone, then collected",
    async ([helm, lookup]) => {
      const rollout = await installedAndHeld(`reuse-${helm}-${lookup}`, helm, lookup);
      const ownedKinds = (await templatesIn(rollout))
        .filter(({ metadata }) => metadata.ownerReferences?.some(({ kind }) => kind === "Cluster"))
        .map(({ kind }) => kind);
      expect(ownedKinds.toSorted()).toEqual(["KubeadmConfigTemplate", "Metal3MachineTemplate"]);

      await upgraded(rollout);
      await eventually("the old templates to be marked as retired", async () => {
        const retired = (await templatesIn(rollout)).filter(
          ({ metadata }) => retiredAt in (metadata.annotations ?? {}),
        );
        return rollout.old.titles.every((title) => retired.map(titleOf).includes(title));
      });
      await untilRolledOut(controlPlane.api, await deploymentOf(rollout));
      await untilOnlyTheUsedAreLeft(rollout);

      expect(found(rollout)).toEqual([true, true, true]);
      expect(rollout.standIn.records.map(({ template }) => template)).toEqual(Array(3).fill(rollout.old.machine));
      expect(rollout.standIn.errors).toEqual([]);
      await expectOrderlyDepartures(rollout);
    },
  );

  test.concurrent.for([
    [3, "owner"],
    [4, "annotation"],
  ] as const)(
    "an old machine is lost mid-rollout, Helm %i, looked up by %s -> it is replaced from the old template, which is collected in the end",
    async ([helm, lookup]) => {
      const rollout = await installedAndHeld(`lost-${helm}`, helm, lookup);
      await loseOneMidRollout(rollout);
      await eventually("three old machines to run again", async () => (await running(rollout, "old")).length === 3);
      rollout.standIn.release();
      await untilRolledOut(controlPlane.api, await deploymentOf(rollout));
      await untilOnlyTheUsedAreLeft(rollout);

      expect(found(rollout)).toEqual([true, true, true, true]);
      await expectOrderlyDepartures(rollout);
    },
  );

  test.concurrent.for([
    [3, "annotation"],
    [4, "owner"],
  ] as const)(
    "the change of Helm %i is reverted after one machine was replaced, looked up by %s -> it rolls back to three old machines, whose templates live on",
    async ([helm, lookup]) => {
      const rollout = await installedAndHeld(`revert-${helm}`, helm, lookup);
      await untilOneIsReplaced(rollout);
      await revertByHand(rollout);
      rollout.standIn.release();
      await untilRolledOut(controlPlane.api, await deploymentOf(rollout));
      await eventually("three old machines to run", async () => (await running(rollout, "old")).length === 3);
      await caretakers.relay.idle();

      expect((await templatesInUse(rollout)).toSorted()).toEqual(rollout.old.titles.toSorted());
      const live = (await templatesIn(rollout)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      expect(live.map(titleOf)).toEqual(expect.arrayContaining(rollout.old.titles));
      expect(found(rollout).every((one) => one === true)).toBe(true);
    },
  );
});
