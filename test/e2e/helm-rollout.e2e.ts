import { beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "./harness/control-plane.ts";
import type { TemplateLookup } from "./harness/node-reuse.ts";
import { conditionOf, valueAt } from "./harness/objects.ts";
import { stays } from "./harness/wait.ts";
import { type Caretakers, startCaretakers } from "./scenario/caretakers.ts";
import { type Journal, startJournal } from "./scenario/journal.ts";
import { untilHeld } from "./scenario/marks.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import type { HelmMajor } from "./scenario/release.ts";
import {
  foundNodeReuse,
  installed,
  loseOne,
  oldMachineSet,
  type Rollout,
  revertByHand,
  running,
  untilBlocked,
  untilSettled,
  upgradedAndHalted,
  upgradedTo,
  upgradedUntilOneIsReplaced,
} from "./scenario/rollout.ts";
import { isRetired, templatesTitled, untilOnlyTheUsedAreLeft } from "./scenario/settled.ts";
import { startStage } from "./scenario/stage.ts";
import { deploymentOf, templatesIn, templatesInUse } from "./scenario/workers.ts";

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startStage();
});

/** A release whose journal was begun before there was anything to write down. */
async function written(
  namespace: string,
  helm: HelmMajor,
  lookup: TemplateLookup,
  replicas = 2,
): Promise<{ rollout: Rollout; journal: Journal }> {
  const journal = startJournal(controlPlane.api, namespace);
  return { rollout: await installed(controlPlane, namespace, { helm, lookup, replicas }), journal };
}

describe("without the functions", unhurried, () => {
  test.concurrent.for([
    [3, "annotation"],
    [4, "owner"],
  ] as const)(
    "story 1: Helm %i drops the old templates, looked up by %s -> no released host is reused",
    async ([helm, lookup]) => {
      const { rollout, journal } = await written(`without-reuse-${helm}`, helm, lookup);
      await upgradedTo(rollout, "two");
      await untilSettled(rollout);
      await inTime("two old machines to be gone", () => rollout.standIn.records.length === 2);

      expect(foundNodeReuse(rollout)).toEqual(["no-template", "no-template"]);
      await inTime("the departures", () => journal.departures().length === 3);
      for (const { after } of journal.departures()) expect(after).toBeGreaterThan(0);
    },
  );

  test.concurrent("an old machine is lost mid-rollout -> it cannot be replaced", async () => {
    const rollout = await installed(controlPlane, "without-lost", { helm: 3, replicas: 2 });
    await upgradedAndHalted(rollout);
    await loseOne(rollout);

    await untilBlocked(() => oldMachineSet(rollout));
    await stays(
      "the gap",
      async () => ((await running(rollout, "old")).length === 1 ? undefined : "the lost machine was replaced"),
      { forMs: 10_000 },
    );
    expect(conditionOf(await deploymentOf(rollout), "Available")?.status).toBe("False");
  });

  test.concurrent("the change is reverted after one machine was replaced -> the rollout wedges unnoticed", async () => {
    const rollout = await installed(controlPlane, "without-revert", { helm: 4 });
    await upgradedUntilOneIsReplaced(rollout);
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
    await inTime("the wedge", async () => (await wedge()) === undefined);
    await stays("the wedge", wedge, { forMs: 15_000 });
  });
});

describe("with the functions", unhurried, () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    caretakers = await startCaretakers(controlPlane, { env: { COLLECT_GRACE: "PT2S", RENEW_AFTER: "PT2S" } });
  });

  async function writtenAndHeld(
    namespace: string,
    helm: HelmMajor,
    lookup: TemplateLookup,
    replicas = 2,
  ): Promise<{ rollout: Rollout; journal: Journal }> {
    const { rollout, journal } = await written(namespace, helm, lookup, replicas);
    await untilHeld(controlPlane.api, ...(await templatesIn(rollout)));
    return { rollout, journal };
  }

  /** Every template of the first values went, and not before the last machine or config that was made from it. */
  async function expectOrderlyDepartures({ old }: Rollout, journal: Journal): Promise<void> {
    const departures = await inTime("the old templates' departures", () => {
      const seen = journal.departures();
      return seen.length === old.titles.length && seen.every(({ after }) => after === 0) ? seen : undefined;
    });
    expect(departures.map(({ template }) => template).toSorted()).toEqual(old.titles.toSorted());
    for (const { before } of departures) expect(before).toBeGreaterThanOrEqual(2);
  }

  test.concurrent.for([
    [3, "annotation"],
    [3, "owner"],
    [4, "annotation"],
    [4, "owner"],
  ] as const)(
    "stories 1 and 3: Helm %i drops the old templates, which Cluster API made the cluster own, looked up by %s -> each is there until its last machine is gone, then collected",
    async ([helm, lookup]) => {
      const { rollout, journal } = await writtenAndHeld(`reuse-${helm}-${lookup}`, helm, lookup);
      const owned = (await templatesIn(rollout)).filter(({ metadata }) =>
        metadata.ownerReferences?.some(({ kind }) => kind === "Cluster"),
      );
      expect(owned.map(({ kind }) => kind).toSorted()).toEqual(["KubeadmConfigTemplate", "Metal3MachineTemplate"]);

      // A host takes its time to be wiped, and only then does Metal3 look the template up.
      rollout.standIn.holdDeletions();
      await upgradedTo(rollout, "two");
      await inTime("an old machine to be Terminating", async () => (await running(rollout, "old")).length === 1);
      await inTime("the old templates to be retired", async () => {
        return (await templatesTitled(rollout, rollout.old.titles)).every(isRetired);
      });
      rollout.standIn.release();
      await untilSettled(rollout);
      await untilOnlyTheUsedAreLeft(rollout);

      expect(foundNodeReuse(rollout)).toEqual([true, true]);
      expect(rollout.standIn.records.map(({ template }) => template)).toEqual(Array(2).fill(rollout.old.machine));
      expect(rollout.standIn.errors).toEqual([]);
      await expectOrderlyDepartures(rollout, journal);
    },
  );

  test.concurrent.for([
    [3, "owner"],
    [4, "annotation"],
  ] as const)(
    "an old machine is lost mid-rollout, Helm %i, looked up by %s -> it is replaced from the old template, which is collected in the end",
    async ([helm, lookup]) => {
      const { rollout, journal } = await writtenAndHeld(`lost-${helm}`, helm, lookup);
      await upgradedAndHalted(rollout);
      await loseOne(rollout);
      await inTime("two old machines to run again", async () => (await running(rollout, "old")).length === 2);
      rollout.standIn.release();
      await untilSettled(rollout);
      await untilOnlyTheUsedAreLeft(rollout);

      expect(foundNodeReuse(rollout)).toEqual([true, true, true]);
      await expectOrderlyDepartures(rollout, journal);
    },
  );

  test.concurrent.for([
    [3, "annotation"],
    [4, "owner"],
  ] as const)(
    "the change of Helm %i is reverted by hand after one machine was replaced, looked up by %s -> three old machines run again, and their templates live on",
    async ([helm, lookup]) => {
      const { rollout } = await writtenAndHeld(`revert-${helm}`, helm, lookup, 3);
      await upgradedUntilOneIsReplaced(rollout);
      await revertByHand(rollout);
      rollout.standIn.release();
      await untilSettled(rollout);
      await inTime("three old machines to run", async () => (await running(rollout, "old")).length === 3);

      expect((await templatesInUse(rollout)).toSorted()).toEqual(rollout.old.titles.toSorted());
      await inTime("the old templates to be live again", async () => {
        await caretakers.sweep();
        return !(await templatesTitled(rollout, rollout.old.titles)).some(isRetired);
      });
      expect(foundNodeReuse(rollout).every((found) => found === true)).toBe(true);
    },
  );
});
