import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applicationRef, deleteObjectsOf, installArgoCd, sync } from "./harness/argocd.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { type Fields, type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { stays } from "./harness/wait.ts";
import {
  comparedWith,
  compareOptions,
  type Deployed,
  deployed,
  liveOf,
  ourOptions,
  standing,
  statusOf,
  syncedTo,
  syncOptions,
  syncTo,
  untilNotPruned,
} from "./scenario/argocd-rollout.ts";
import { rendered } from "./scenario/argocd-source.ts";
import { type Caretakers, startCaretakers } from "./scenario/caretakers.ts";
import { isHeld, untilGone, untilHeld } from "./scenario/marks.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import { letReadRecords } from "./scenario/record-rights.ts";
import { foundNodeReuse, untilSettled } from "./scenario/rollout.ts";
import { isRetired } from "./scenario/settled.ts";
import { startStage } from "./scenario/stage.ts";
import { deploymentOf, machinesOf, templateNames, titleOf } from "./scenario/workers.ts";

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startStage();
  await installArgoCd(controlPlane);
});

/** Puts a finalizer on an object that nobody takes off. */
async function holdBarely(object: KubeObject): Promise<void> {
  await controlPlane.api.mergePatch(refOf(object), { metadata: { finalizers: ["example.com/bare"] } });
}

describe("without the functions", unhurried, () => {
  test.concurrent("the source renames its templates -> the data template is pruned from under the machines; what the Cluster owns stays unlisted", async () => {
    const at = await deployed(controlPlane, "bare-none");
    at.standIn.holdDeletions();
    const compared = await syncedTo(at, "two");

    const [data, ...owned] = at.old.templates.map(titleOf);
    expect(await standing(at, at.old.templates)).toEqual(owned);
    expect(data).toMatch(/^Metal3DataTemplate/);
    expect(at.old.templates.map((template) => statusOf(compared, template))).toEqual([undefined, undefined, undefined]);
    at.standIn.release();
  });

  test.concurrent("a bare finalizer, all in one wave -> the sync ends, and the Application stays OutOfSync", async () => {
    const at = await deployed(controlPlane, "bare-one-wave");
    await holdBarely(at.old.data);
    const compared = await syncedTo(at, "two");

    expect(compared.sync).toBe("OutOfSync");
    expect(statusOf(compared, at.old.data)).toMatchObject({ status: "OutOfSync", requiresPruning: true });
    expect(templateNames(await deploymentOf(at)).machine).not.toBe(at.old.data.metadata.name);
    expect((await syncedTo(at, "two")).sync).toBe("OutOfSync");
  });

  test.concurrent("a bare finalizer, templates in the wave before the MachineDeployment -> no sync ends, and the rollout that would free them never begins", async () => {
    const at = await deployed(controlPlane, "bare-two-waves", { waves: 2 });
    await holdBarely(at.old.data);

    for (const seconds of [20, 10]) {
      const { phase, message } = await syncTo(at, "two", seconds);
      expect([phase, message]).toEqual([
        "Running",
        expect.stringMatching(/^waiting for deletion of .*Metal3DataTemplate/),
      ]);
    }
    expect(templateNames(await deploymentOf(at)).machine).toBe(at.old.data.metadata.name);
  });
});

describe("with the functions", unhurried, () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    caretakers = await startCaretakers(controlPlane, { env: { COLLECT_GRACE: "PT2S", RENEW_AFTER: "PT2S" } });
  });

  afterAll(() => caretakers.remove());

  test.concurrent.for([
    ["one wave", { waves: 1 }],
    ["one wave, pruned last", { waves: 1, pruneLast: true }],
    ["two waves", { waves: 2 }],
    ["two waves, applied server-side", { waves: 2, serverSide: true }],
  ] as const)(
    "%s -> the sync ends Synced while the old templates live on, each until its last machine is gone",
    async ([name, options]) => {
      const at = await deployed(controlPlane, name.replaceAll(/\W+/g, "-"), options);
      await untilNotPruned(at, at.old.templates);
      at.standIn.holdDeletions();
      const compared = await syncedTo(at, "two");

      expect(compared.sync).toBe("Synced");
      expect(statusOf(compared, at.old.data)).toMatchObject({ status: "OutOfSync", requiresPruning: true });
      expect(await standing(at, at.old.templates)).toEqual(at.old.templates.map(titleOf));
      at.standIn.release();
      await untilSettled(at);
      expect(foundNodeReuse(at)).toEqual([true, true]);
    },
  );

  test.concurrent.for([
    ["client-side", { serverSide: false }],
    ["server-side", { serverSide: true }],
  ] as const)(
    "further syncs and self-heal, %s -> our options stay, and nobody writes the templates again",
    async ([name, options]) => {
      const at = await deployed(controlPlane, `heal-${name}`, options);
      await untilNotPruned(at, at.old.templates);
      const [, machine] = at.old.templates;
      const changed = await controlPlane.api.mergePatch(refOf(at.old.data), {
        spec: { metaData: { strings: [{ key: "example", value: "by hand" }] } },
      });
      const drifted = await inTime("the drift to be seen", async () => {
        const compared = await comparedWith(at, "one");
        return compared.sync === "OutOfSync" ? compared : undefined;
      });
      expect(statusOf(drifted, at.old.data)?.status).toBe("OutOfSync");

      const before = await liveOf(at, machine as KubeObject);
      expect((await syncedTo(at, "one")).sync).toBe("Synced");
      expect((await syncedTo(at, "one")).sync).toBe("Synced");
      const healed = await liveOf(at, at.old.data);
      expect(healed.spec).toEqual(at.old.data.spec);
      expect(healed.metadata.annotations?.[ourOptions]).toBe(changed.metadata.annotations?.[ourOptions]);
      await untilNotPruned(at, at.old.templates);
      expect((await liveOf(at, machine as KubeObject)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    },
  );

  test.concurrent.for([
    ["client-side", { serverSide: false }],
    ["server-side", { serverSide: true }],
  ] as const)(
    "the source sets sync options of its own, %s -> a hold, and nobody writes over the other",
    async ([name, options]) => {
      const annotations = { [syncOptions]: "Validate=true" };
      const at = await deployed(controlPlane, `own-options-${name}`, { ...options, annotations });
      await untilHeld(controlPlane.api, ...at.old.templates);
      expect((await syncedTo(at, "one")).sync).toBe("Synced");

      const before = await liveOf(at, at.old.data);
      expect(before.metadata.annotations?.[syncOptions]).toBe("Validate=true");
      await stays(
        "the template as it is",
        async () => {
          const { metadata } = await liveOf(at, at.old.data);
          await syncedTo(at, "one");
          return metadata.resourceVersion === before.metadata.resourceVersion ? undefined : JSON.stringify(metadata);
        },
        { forMs: 5_000 },
      );
    },
  );

  test.concurrent("the source says Prune=false itself -> neither hold nor anything else of ours", async () => {
    const annotations = { [syncOptions]: "Prune=false", [compareOptions]: "IgnoreExtraneous" };
    const at = await deployed(controlPlane, "own-prune", { annotations });
    await caretakers.sweep();

    const { metadata } = await liveOf(at, at.old.data);
    expect((metadata.managedFields ?? []).map(({ manager }) => manager)).not.toContain("capi-caretaker");
    expect((await syncedTo(at, "two")).sync).toBe("Synced");
    expect(await standing(at, at.old.templates)).toEqual(at.old.templates.map(titleOf));
  });

  test.concurrent("the source names the former templates again -> they were never retired, and the rollout goes back to them", async () => {
    const at = await deployed(controlPlane, "back");
    await untilNotPruned(at, at.old.templates);
    at.standIn.holdDeletions();
    await syncedTo(at, "two");
    const before = await liveOf(at, at.old.data);
    const compared = await syncedTo(at, "one");
    at.standIn.release();
    await untilSettled(at);

    expect([compared.sync, statusOf(compared, at.old.data)]).toMatchObject(["Synced", { status: "Synced" }]);
    expect(templateNames(await deploymentOf(at)).machine).toBe(at.old.data.metadata.name);
    const after = await liveOf(at, at.old.data);
    expect([after.metadata.uid, isRetired(after)]).toEqual([before.metadata.uid, false]);
  });

  test.concurrent("the workers are deleted, and the Application while their machines leave -> Prune=false guards nothing; the data template comes back, goes with the last machine, and the deletion ends", async () => {
    const at = await deployed(controlPlane, "deleted");
    const idle = rendered(at.namespace, "idle").data;
    await sync(controlPlane, at.application, [...at.old.objects, idle]);
    await untilNotPruned(at, [...at.old.templates, idle]);
    at.standIn.holdDeletions();
    const [, ...named] = at.old.templates;
    for (const object of [at.old.deployment, ...named]) await controlPlane.api.delete(refOf(object));
    await inTime("every machine to leave", async () => {
      return (await machinesOf(at)).every(({ metadata }) => metadata.deletionTimestamp !== undefined);
    });
    await untilHeld(controlPlane.api, ...named);
    const first = await liveOf(at, at.old.data);
    const deletion = deleteObjectsOf(controlPlane, at.application, 120);

    const back = await inTime("the data template to be back", async () => {
      const live = await controlPlane.api.get(refOf(at.old.data));
      return live !== undefined && live.metadata.uid !== first.metadata.uid ? live : undefined;
    });
    expect([isRetired(back), isHeld(back)]).toEqual([true, true]);
    expect(await standing(at, [idle])).toEqual([]);
    at.standIn.release();
    const { deleted, remaining } = await deletion;
    expect([new Set(deleted), remaining]).toEqual([new Set([at.old.data, idle].map(titleOf)), []]);
    await untilGone(controlPlane.api, at.old.templates);
    expect(await machinesOf(at)).toEqual([]);
    expect(foundNodeReuse(at)).toEqual([true, true]);
  });

  test.concurrent("the Application is deleted, and the MachineDeployment stays, since the Cluster owns it -> so does its data template", async () => {
    const at = await deployed(controlPlane, "outlived");
    await untilNotPruned(at, at.old.templates);
    const first = await liveOf(at, at.old.data);
    const { deleted } = await deleteObjectsOf(controlPlane, at.application, 10);

    expect(new Set(deleted)).toEqual(new Set([titleOf(at.old.data)]));
    await untilHeld(controlPlane.api, at.old.data);
    await caretakers.sweep();
    await inTime("what the machines need to stand", async () => {
      return (await standing(at, at.old.objects)).length === at.old.objects.length;
    });
    expect((await liveOf(at, at.old.data)).metadata.uid).not.toBe(first.metadata.uid);
    expect((await machinesOf(at)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([]);
  });
});

describe("with the functions, and sync options that the source sets itself", unhurried, () => {
  test("templates in the wave before the MachineDeployment -> the sync waits for what is held until that is renewed, then ends, and nothing that machines need goes; a later one waits for the last referrer", async () => {
    const env = { COLLECT_GRACE: "PT2S", RENEW_AFTER: "PT1H" };
    const unhurriedOnes = await startCaretakers(controlPlane, { env });
    const annotations = { [syncOptions]: "Validate=true" };
    const at = await deployed(controlPlane, "own-options-waves", { waves: 2, annotations });
    await untilHeld(controlPlane.api, ...at.old.templates);
    const first = await liveOf(at, at.old.data);
    at.standIn.holdDeletions();
    const ending = syncTo(at, "two", 600);
    const isWaiting = async (): Promise<boolean> => {
      const application = await controlPlane.api.get(applicationRef(at.application));
      const { phase, message } = valueAt(application, "status", "operationState") as Fields;
      return phase === "Running" && /^waiting for deletion of .*Metal3DataTemplate/.test(String(message));
    };
    await inTime("the sync to wait", isWaiting);
    const whatIsWrong = async () => ((await isWaiting()) ? undefined : "it goes on");
    await stays("the sync's waiting", whatIsWrong, { forMs: 10_000 });
    expect(templateNames(await deploymentOf(at)).machine).toBe(at.old.data.metadata.name);
    expect(await standing(at, at.old.templates)).toEqual(at.old.templates.map(titleOf));

    await unhurriedOnes.remove();
    const caretakers = await startCaretakers(controlPlane, { env: { ...env, RENEW_AFTER: "PT2S" } });
    await inTime("the data template to be renewed", async () => {
      await caretakers.sweep();
      const { metadata } = await liveOf(at, at.old.data);
      return metadata.uid !== first.metadata.uid;
    });
    expect((await ending).phase).toBe("Succeeded");
    expect(isHeld(await liveOf(at, at.old.data))).toBe(true);
    at.standIn.release();
    await untilSettled(at);
    expect(foundNodeReuse(at)).toEqual([true, true]);

    // The Cluster owns the machine template, so Argo CD does not prune it, and it names the data template.
    expect((await syncTo(at, "two", 5)).phase).toBe("Running");
    const last = syncTo(at, "two", 120);
    for (const template of at.old.templates) await controlPlane.api.delete(refOf(template));
    await inTime("the old templates to go", async () => {
      await caretakers.sweep();
      return (await standing(at, at.old.templates)).length === 0;
    });
    expect((await last).phase).toBe("Succeeded");
    await caretakers.remove();
  });
});

describe("with the functions and the records of Argo CD", unhurried, () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    await letReadRecords(controlPlane.api, "records-argocd");
    const env = { COLLECT_GRACE: "PT2S", RENEW_AFTER: "PT2S", RETIRE_ORPHANS: "argocd" };
    caretakers = await startCaretakers(controlPlane, { env });
  });

  /** Sweeps until each of these templates is retired and held, or none is retired and none held. */
  async function untilRetired(at: Deployed, templates: readonly KubeObject[], expected: boolean): Promise<void> {
    await inTime(`the old templates to be ${expected ? "" : "un"}retired`, async () => {
      await caretakers.sweep();
      const live = await Promise.all(templates.map((template) => liveOf(at, template)));
      return live.every((template) => isRetired(template) === expected && isHeld(template) === expected);
    });
  }

  test.concurrent.for([
    ["one wave", { waves: 1 }],
    ["two waves", { waves: 2 }],
    ["two waves, applied server-side", { waves: 2, serverSide: true }],
  ] as const)(
    "%s -> what the source dropped is retired, and gone once its last machine is, and the Application is Synced throughout",
    async ([name, options]) => {
      const at = await deployed(controlPlane, `record-${name.replaceAll(/\W+/g, "-")}`, options);
      await untilNotPruned(at, at.old.templates);
      at.standIn.holdDeletions();
      expect((await syncedTo(at, "two")).sync).toBe("Synced");
      await untilRetired(at, at.old.templates, true);
      expect((await syncedTo(at, "two")).sync).toBe("Synced");
      at.standIn.release();
      await untilSettled(at);
      await inTime("the old templates to go", async () => {
        await caretakers.sweep();
        return (await standing(at, at.old.templates)).length === 0;
      });

      const compared = await comparedWith(at, "two");
      expect([compared.sync, statusOf(compared, at.old.data)]).toEqual(["Synced", undefined]);
      expect(foundNodeReuse(at)).toEqual([true, true]);
      await untilNotPruned(at, rendered(at.namespace, "two").templates);
    },
  );

  test.concurrent("what was retired is named again -> not retired, options instead of the hold, and the same objects", async () => {
    const at = await deployed(controlPlane, "record-again");
    await untilNotPruned(at, at.old.templates);
    const before = await liveOf(at, at.old.data);
    at.standIn.holdDeletions();
    await syncedTo(at, "two");
    await untilRetired(at, at.old.templates, true);
    await syncedTo(at, "one");
    await untilRetired(at, at.old.templates, false);
    at.standIn.release();
    await untilSettled(at);

    await untilNotPruned(at, at.old.templates);
    expect((await liveOf(at, at.old.data)).metadata.uid).toBe(before.metadata.uid);
    expect((await comparedWith(at, "one")).sync).toBe("Synced");
  });
});
