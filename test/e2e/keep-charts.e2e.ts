import { beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "./harness/control-plane.ts";
import { type Caretakers, startCaretakers } from "./scenario/caretakers.ts";
import { valuesOf } from "./scenario/hashed-chart.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import { letReadReleases } from "./scenario/record-rights.ts";
import { attemptUpgrade, type HelmMajor, onRelease, statusOf } from "./scenario/release.ts";
import { startReleaseJournal } from "./scenario/release-journal.ts";
import { installed, type Rollout, type RolloutOptions, untilSettled, upgradedTo } from "./scenario/rollout.ts";
import { isRetired, templatesTitled, untilOnlyTheUsedAreLeft } from "./scenario/settled.ts";
import { type Scene, startStage } from "./scenario/stage.ts";
import { machinesOf, templatesIn, templatesInUse, titleOf } from "./scenario/workers.ts";

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startStage();
});

const majors: readonly HelmMajor[] = [3, 4];
const upgrades = 10;

/** A release of the chart with kept templates and one machine, whose Secrets collect-templates may read. */
function keeping(namespace: string, helm: HelmMajor, options: Partial<RolloutOptions> = {}): Promise<Rollout> {
  const before = ({ controlPlane: { api } }: Scene): Promise<void> => letReadReleases(api, namespace);
  return installed(controlPlane, namespace, { helm, replicas: 1, keep: true, before, ...options });
}

/** How many templates of each kind there are. */
async function countOf(rollout: Rollout): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { kind } of await templatesIn(rollout)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Tells a template that stayed from one that was deleted and created again. Throws when one is missing. */
async function uidsOf(scene: Scene, titles: readonly string[]): Promise<unknown[]> {
  return (await templatesTitled(scene, titles)).map(({ metadata }) => metadata.uid);
}

async function titlesIn(scene: Scene): Promise<string[]> {
  return (await templatesIn(scene)).map(titleOf).toSorted();
}

describe("without the functions", unhurried, () => {
  test.concurrent.for(majors)(
    "Helm %i upgrades a chart with kept templates ten times -> eleven of each kind remain",
    async (helm) => {
      const rollout = await keeping(`without-${helm}`, helm);
      for (let turn = 1; turn <= upgrades; turn += 1) {
        await upgradedTo(rollout, `turn-${turn}`);
        await untilSettled(rollout);
      }
      expect(await countOf(rollout)).toEqual({
        Metal3MachineTemplate: upgrades + 1,
        Metal3DataTemplate: upgrades + 1,
        KubeadmConfigTemplate: upgrades + 1,
      });
    },
  );
});

describe("with the functions and RETIRE_ORPHANS=helm", unhurried, () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    const env = { COLLECT_GRACE: "PT1S", RENEW_AFTER: "PT2S", RETIRE_ORPHANS: "helm" };
    caretakers = await startCaretakers(controlPlane, { env });
  });

  /** Sweeps until all or none of the templates with these titles are retired. Throws when one is gone. */
  function untilRetired(scene: Scene, titles: readonly string[], expected: boolean): Promise<boolean> {
    return inTime(`${titles.join()} to be ${expected ? "" : "un"}retired`, async () => {
      await caretakers.sweep();
      return (await templatesTitled(scene, titles)).every((template) => isRetired(template) === expected);
    });
  }

  /** Sweeps often enough to retire a template, to start its grace period and to end it. */
  async function sweepRepeatedly(): Promise<void> {
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      const started = Date.now();
      await caretakers.sweep();
      await inTime("the grace period to pass", () => Date.now() - started > 1500);
    }
  }

  test.concurrent.for(majors)(
    "Helm %i upgrades it ten times -> exactly the templates in use and in the release remain, and no listed one was deleted",
    async (helm) => {
      const namespace = `kept-${helm}`;
      const rollout = await keeping(namespace, helm);
      const journal = startReleaseJournal(controlPlane.api, namespace);
      for (let turn = 1; turn <= upgrades; turn += 1) {
        const former = await templatesInUse(rollout);
        // Once, look closely while an old machine still stands.
        const isHalted = turn === 3;
        if (isHalted) rollout.standIn.holdDeletions();
        await upgradedTo(rollout, `turn-${turn}`);
        if (isHalted) {
          await untilRetired(rollout, former, true);
          const uids = await uidsOf(rollout, former);
          await sweepRepeatedly();
          expect(await uidsOf(rollout, former)).toEqual(uids);
          rollout.standIn.release();
        }
        await untilSettled(rollout);
        await caretakers.sweep();
      }
      await untilOnlyTheUsedAreLeft(rollout, caretakers.sweep);
      expect(journal.deletedWhileListed()).toEqual([]);
    },
  );

  // Helm brings unknown kinds to the cluster by kind, then by name: a config template first, then this, then `workers`.
  const refused = `{{- if .Values.refused }}
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: A_NAME_THAT_IS_REFUSED}
spec: {}
{{- end }}
`;

  test.concurrent.for(majors)(
    "an upgrade with Helm %i fails half-way -> nothing is retired, what it rendered stays, and the repaired one uses it",
    async (helm) => {
      const rollout = await keeping(`failed-${helm}`, helm, { more: { "refused.yaml": refused } });
      const before = await titlesIn(rollout);
      const broken = await attemptUpgrade(rollout, helm, rollout.chart, valuesOf("two"), "--set", "refused=true");
      expect([broken.code === 0, await statusOf(rollout, helm)]).toEqual([false, "failed"]);
      const rendered = await titlesIn(rollout);
      expect(rendered.length).toBeGreaterThan(before.length);

      await sweepRepeatedly();
      const templates = await templatesIn(rollout);
      expect(templates.map(titleOf).toSorted()).toEqual(rendered);
      expect(templates.filter(isRetired)).toEqual([]);
      const unused = rendered.filter((title) => !before.includes(title));
      const uids = await uidsOf(rollout, unused);

      await upgradedTo(rollout, "two");
      await untilSettled(rollout);
      await untilOnlyTheUsedAreLeft(rollout, caretakers.sweep);
      expect(await uidsOf(rollout, unused)).toEqual(uids);
    },
  );

  test.concurrent.for(majors)(
    "an upgrade back to the former values with Helm %i while they are retired -> adopted, unretired, and they stay",
    async (helm) => {
      const rollout = await keeping(`back-${helm}`, helm);
      const { titles } = rollout.old;
      rollout.standIn.holdDeletions();
      await upgradedTo(rollout, "two");
      await untilRetired(rollout, titles, true);
      const uids = await uidsOf(rollout, titles);

      await upgradedTo(rollout, "one");
      await untilRetired(rollout, titles, false);
      rollout.standIn.release();
      await untilSettled(rollout);
      await untilOnlyTheUsedAreLeft(rollout, caretakers.sweep);
      expect(await titlesIn(rollout)).toEqual(titles.toSorted());
      expect(await uidsOf(rollout, titles)).toEqual(uids);
    },
  );

  test.concurrent.for(majors)("Helm %i uninstalls the release -> the kept templates stay, unretired", async (helm) => {
    const rollout = await keeping(`uninstalled-${helm}`, helm);
    const { code, stderr } = await onRelease(rollout, helm, ["uninstall"]);
    expect([code, stderr]).toEqual([0, expect.anything()]);
    await inTime("the machines to be gone", async () => (await machinesOf(rollout)).length === 0);
    await sweepRepeatedly();
    const templates = await templatesIn(rollout);
    expect(templates.map(titleOf).toSorted()).toEqual(rollout.old.titles.toSorted());
    expect(templates.filter(isRetired)).toEqual([]);
  });
});
