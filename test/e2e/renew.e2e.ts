import { beforeAll, describe, expect, test } from "vitest";
import type { CloudEvent } from "./harness/cloud-event.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { type KubeObject, refOf } from "./harness/objects.ts";
import { stays } from "./harness/wait.ts";
import { type Caretakers, startCaretakers } from "./scenario/caretakers.ts";
import { valuesOf, writeHashedChart } from "./scenario/hashed-chart.ts";
import { isHeld, renewedAt, retiredAt, untilHeld } from "./scenario/marks.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import { onRelease, upgrade } from "./scenario/release.ts";
import {
  foundNodeReuse,
  installed,
  loseOne,
  oldMachineSet,
  type Rollout,
  running,
  untilBlocked,
  untilSettled,
  upgradedAndHalted,
  upgradedTo,
} from "./scenario/rollout.ts";
import { isRetired, templatesTitled, untilOnlyTheUsedAreLeft } from "./scenario/settled.ts";
import { startStage } from "./scenario/stage.ts";
import { deploymentOf, machineTemplateKind, templatesIn, templatesInUse, titleOf } from "./scenario/workers.ts";

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startStage();
});

const uids = (objects: readonly KubeObject[]): unknown[] => objects.map(({ metadata }) => metadata.uid);

/** Has somebody hold the templates who knows nothing of renewal. */
async function holdNaively(templates: readonly KubeObject[], finalizers: string[]): Promise<void> {
  for (const template of templates) await controlPlane.api.mergePatch(refOf(template), { metadata: { finalizers } });
}

/** Creates an object that is gone again from its last state, as a plain restore does. */
async function recreateNaively(template: KubeObject): Promise<void> {
  const { apiVersion, kind, metadata, spec = {} } = template;
  const { name, namespace = "", labels = {}, annotations = {} } = metadata;
  await controlPlane.api.create({ apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec });
}

/** The chart's next version, whose label `helm.sh/chart` differs, with unchanged values. */
async function upgradeChart(rollout: Rollout): Promise<void> {
  const chart = writeHashedChart(rollout.namespace, { version: "0.2.0", replicas: 2 });
  await upgrade(rollout, rollout.helm, chart, valuesOf("one"));
}

async function chartLabels(rollout: Rollout): Promise<unknown[]> {
  const templates = await templatesTitled(rollout, rollout.old.titles);
  return templates.map(({ metadata }) => metadata.labels?.["helm.sh/chart"]);
}

describe("without the functions", unhurried, () => {
  test.concurrent("story 9: the values are reverted mid-rollout while another finalizer holds the templates -> Helm says success and they disappear", async () => {
    const rollout = await installed(controlPlane, "without-renewal", { helm: 3, replicas: 2 });
    await holdNaively(await templatesIn(rollout), ["e2e.test/held"]);
    await upgradedAndHalted(rollout);
    const held = await templatesTitled(rollout, rollout.old.titles);
    await upgradedTo(rollout, "one");
    rollout.standIn.release();
    await untilSettled(rollout);
    await holdNaively(held, []);

    const titles = (await templatesIn(rollout)).map(titleOf);
    expect(titles.filter((title) => rollout.old.titles.includes(title))).toEqual([]);
    await loseOne(rollout);
    await untilBlocked(() => oldMachineSet(rollout));
  });

  test.concurrent("a template is created again from its last state, then Helm 4 upgrades the chart -> conflict", async () => {
    const rollout = await installed(controlPlane, "without-owners", { helm: 4, replicas: 2 });
    const [template] = await templatesTitled(rollout, rollout.old.titles);
    if (template === undefined) throw new Error("no template");
    await controlPlane.api.delete(refOf(template));
    await recreateNaively(template);

    await expect(upgradeChart(rollout)).rejects.toThrow(/conflict/);
  });

  test.concurrent.for([3, 4] as const)(
    "helm rollback mid-rollout, Helm %i -> succeeds, since the old templates are gone and made anew",
    async (helm) => {
      const rollout = await installed(controlPlane, `without-rollback-${helm}`, { helm, replicas: 2 });
      await upgradedAndHalted(rollout);
      const outcome = await onRelease(rollout, helm, ["rollback", "1"]);

      expect(outcome).toMatchObject({ code: 0 });
      await templatesTitled(rollout, rollout.old.titles);
    },
  );
});

describe("with the functions", unhurried, () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    caretakers = await startCaretakers(controlPlane, { env: { COLLECT_GRACE: "PT2S", RENEW_AFTER: "PT2S" } });
  });

  async function installedAndHeld(namespace: string, helm: 3 | 4): Promise<Rollout> {
    const rollout = await installed(controlPlane, namespace, { helm, replicas: 2 });
    await untilHeld(controlPlane.api, ...(await templatesIn(rollout)));
    return rollout;
  }

  async function untilRenewed(rollout: Rollout): Promise<KubeObject[]> {
    return inTime("the old templates to be renewed", async () => {
      const templates = await templatesTitled(rollout, rollout.old.titles);
      const areRenewed = templates.every((one) => !isRetired(one) && renewedAt in (one.metadata.annotations ?? {}));
      return areRenewed && templates.every(isHeld) ? templates : undefined;
    });
  }

  async function expectToStay(rollout: Rollout, templates: readonly KubeObject[]): Promise<void> {
    await stays(
      "the renewed templates",
      async () => {
        await caretakers.sweep();
        const live = await templatesTitled(rollout, templates.map(titleOf));
        return live.some(isRetired) || uids(live).join() !== uids(templates).join() ? "retired or replaced" : undefined;
      },
      { forMs: 5000, everyMs: 1000 },
    );
  }

  test.concurrent.for([3, 4] as const)(
    "story 9: the values are reverted mid-rollout, Helm %i -> the old templates are renewed, outlive the rollout, and take the chart's next version",
    async (helm) => {
      const rollout = await installedAndHeld(`renewed-${helm}`, helm);
      const first = await templatesTitled(rollout, rollout.old.titles);
      await upgradedAndHalted(rollout);
      await upgradedTo(rollout, "one");
      rollout.standIn.release();
      const renewed = await untilRenewed(rollout);
      await untilSettled(rollout);
      await untilOnlyTheUsedAreLeft(rollout, () => caretakers.sweep());

      expect(uids(renewed).some((uid) => uids(first).includes(uid))).toBe(false);
      expect(renewed.map(({ spec }) => spec)).toEqual(first.map(({ spec }) => spec));
      await expectToStay(rollout, renewed);
      expect(foundNodeReuse(rollout)).toEqual([true]);
      await upgradeChart(rollout);
      expect(await chartLabels(rollout)).toEqual(Array(3).fill(`renewed-${helm}-0.2.0`));
      await loseOne(rollout);
      await untilSettled(rollout);
    },
  );

  test.concurrent("helm rollback mid-rollout, Helm 3 -> refuses while the old templates stand; an upgrade to the old values succeeds, but Helm forgets the newer templates", async () => {
    const rollout = await installedAndHeld("rollback-3", 3);
    await upgradedAndHalted(rollout);
    const newer = await templatesInUse(rollout);
    const outcome = await onRelease(rollout, 3, ["rollback", "1"]);

    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(/resourceVersion.*must be specified for an update/);
    await upgradedTo(rollout, "one");
    rollout.standIn.release();
    await untilRenewed(rollout);
    await untilSettled(rollout);
    await caretakers.sweep();

    // The failed rollback counts as the last release, and it never held them; nobody asked for their deletion, so they stay.
    const left = await templatesIn(rollout);
    expect(left.map(titleOf).toSorted()).toEqual([...rollout.old.titles, ...newer].toSorted());
    expect(left.filter(isRetired)).toEqual([]);
  });

  test.concurrent("helm rollback mid-rollout, Helm 4 -> succeeds and the old templates are renewed", async () => {
    const rollout = await installedAndHeld("rollback-4", 4);
    await upgradedAndHalted(rollout);
    const outcome = await onRelease(rollout, 4, ["rollback", "1"]);

    expect(outcome).toMatchObject({ code: 0 });
    rollout.standIn.release();
    await untilRenewed(rollout);
    await untilSettled(rollout);
    await untilOnlyTheUsedAreLeft(rollout, () => caretakers.sweep());
  });

  describe("while events are late", unhurried, () => {
    const isDeletionOf =
      (name: string, kind: string) =>
      ({ attributes }: CloudEvent): boolean =>
        attributes.type?.endsWith(".delete") === true && attributes.name === name && attributes.kind === kind;

    /** The event of a template's deletion as the adapter sent it. */
    function deletionOf({ kind, metadata }: KubeObject): Promise<CloudEvent> {
      const isIt = isDeletionOf(metadata.name, kind);
      return inTime(`the deletion of ${metadata.name}`, () => {
        return caretakers.relay.received.find((event) => {
          return isIt(event) && event.attributes.namespace === metadata.namespace;
        });
      });
    }

    test("the old templates are deleted before they ever had a hold -> restored, usable by the MachineSet again, and collected after the rollout", async () => {
      caretakers.relay.pause();
      const rollout = await installed(controlPlane, "restored", { helm: 4, replicas: 2 });
      const first = await templatesTitled(rollout, rollout.old.titles);
      await upgradedAndHalted(rollout);
      await expect(templatesTitled(rollout, rollout.old.titles)).rejects.toThrow("is not there");
      for (const template of first) await deletionOf(template);
      caretakers.relay.resume();

      const restored = await inTime("the old templates", () => templatesTitled(rollout, rollout.old.titles));
      expect(restored.map(({ spec }) => spec)).toEqual(first.map(({ spec }) => spec));
      expect(restored.every(isHeld)).toBe(true);
      expect(restored.every(({ metadata }) => retiredAt in (metadata.annotations ?? {}))).toBe(true);
      expect(restored.map(({ metadata }) => metadata.ownerReferences)).toEqual(
        first.map(({ metadata }) => metadata.ownerReferences),
      );
      await loseOne(rollout);
      await inTime("the lost machine to be replaced", async () => (await running(rollout, "old")).length === 2);
      rollout.standIn.release();
      await untilSettled(rollout);
      await untilOnlyTheUsedAreLeft(rollout, () => caretakers.sweep());
      expect(foundNodeReuse(rollout)).toEqual([true, true, true]);
    });

    test("a template in use is deleted before it ever had a hold, then Helm 4 upgrades the chart -> restored, renewed, no conflict", async () => {
      caretakers.relay.pause();
      const rollout = await installed(controlPlane, "restored-in-use", { helm: 4, replicas: 2 });
      const first = await templatesTitled(rollout, rollout.old.titles);
      for (const template of first) await controlPlane.api.delete(refOf(template));
      for (const template of first) await deletionOf(template);
      caretakers.relay.resume();

      await inTime("the templates to be live again", async () => {
        await caretakers.sweep();
        return (await templatesTitled(rollout, rollout.old.titles)).every((one) => isHeld(one) && !isRetired(one));
      });
      await upgradeChart(rollout);
      expect(await chartLabels(rollout)).toEqual(Array(3).fill("restored-in-use-0.2.0"));
      await untilOnlyTheUsedAreLeft(rollout);
      await loseOne(rollout);
      await untilSettled(rollout);
    });

    test("delete events are forged, of a template that never was and of a deleted one with another spec -> nothing is made of the first, and the other comes back as it was", async () => {
      const { relay } = caretakers;
      relay.pause();
      const rollout = await installed(controlPlane, "forged", { helm: 4, replicas: 2 });
      const { namespace } = rollout;
      const ref = { ...machineTemplateKind, namespace, name: rollout.old.machine };
      const template = await controlPlane.api.get(ref);
      if (template === undefined) throw new Error("no machine template");
      relay.drop(isDeletionOf(ref.name, ref.kind));
      await controlPlane.api.delete(ref);
      const real = await deletionOf(template);
      relay.drop(undefined);
      relay.resume();
      await relay.idle(120_000);

      const body = real.data as KubeObject;
      const forge = (data: KubeObject): void => {
        const { name } = data.metadata;
        relay.send({ attributes: { ...real.attributes, id: crypto.randomUUID(), name }, data });
      };
      await pointAt(rollout, "ghost");
      for (const resourceVersion of [body.metadata.resourceVersion ?? "", "2", "999999999999", "not a number"]) {
        forge({ ...body, metadata: { ...body.metadata, name: "ghost", uid: crypto.randomUUID(), resourceVersion } });
      }
      await relay.idle(120_000);
      expect((await templatesIn(rollout)).filter(({ metadata }) => metadata.name === "ghost")).toEqual([]);

      await pointAt(rollout, ref.name);
      const image = { url: "http://172.22.0.1/another.qcow2", checksum: "0".repeat(64), checksumType: "sha256" };
      forge({ ...body, spec: { nodeReuse: false, template: { spec: { image } } } });
      const restored = await inTime("the template", () => controlPlane.api.get(ref));
      expect(restored.spec).toEqual(template.spec);
    });

    async function pointAt(rollout: Rollout, name: string): Promise<void> {
      const spec = { template: { spec: { infrastructureRef: { name } } } };
      await controlPlane.api.mergePatch(refOf(await deploymentOf(rollout)), { spec });
    }
  });
});
