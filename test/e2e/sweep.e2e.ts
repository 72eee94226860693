import { beforeAll, describe, expect, test } from "vitest";
import { startAdapter } from "./harness/adapter.ts";
import { coreVersion, kubeadmConfigTemplate, machineDeployment } from "./harness/capi-objects.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { metal3DataTemplate, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { conditionOf, type KubeObject, refOf } from "./harness/objects.ts";
import { stays } from "./harness/wait.ts";
import { type Caretakers, startCaretakers, watchedKinds } from "./scenario/caretakers.ts";
import { collectDataTemplates, collectMachineTemplates } from "./scenario/home-made.ts";
import { isHeld, untilHeld } from "./scenario/marks.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import {
  foundNodeReuse,
  installed,
  oldMachineSet,
  type Rollout,
  running,
  untilBlocked,
  untilSettled,
  upgradedAndHalted,
  upgradedTo,
} from "./scenario/rollout.ts";
import { isRetired, templatesTitled, untilOnlyTheUsedAreLeft } from "./scenario/settled.ts";
import { openScene, type Scene, startStage } from "./scenario/stage.ts";
import {
  configTemplateKind,
  deploymentOf,
  deploymentRef,
  machinesOf,
  templatesIn,
  templatesInUse,
} from "./scenario/workers.ts";

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startStage();
});

/** Templates that only a paused MachineDeployment names; it has no MachineSet yet. */
async function namedByDeploymentAlone(namespace: string): Promise<Scene & { templates: KubeObject[] }> {
  const { api } = controlPlane;
  const scene = await openScene(controlPlane, namespace);
  const infrastructure = await api.create(metal3MachineTemplate({ namespace, name: "named", version: "v1beta1" }));
  const bootstrap = await api.create(kubeadmConfigTemplate(namespace, "named"));
  const options = { namespace, name: "workers", cluster: namespace, infrastructure, bootstrap, replicas: 1 };
  const deployment = machineDeployment(options);
  const annotations = { "cluster.x-k8s.io/paused": "" };
  await api.create({ ...deployment, metadata: { ...deployment.metadata, annotations } });
  return { ...scene, templates: [infrastructure, bootstrap] };
}

async function unpause(scene: Scene): Promise<void> {
  const metadata = { annotations: { "cluster.x-k8s.io/paused": null } };
  await controlPlane.api.mergePatch(deploymentRef(scene), { metadata });
}

/** A machine and a data template that an upgrade has rendered and nothing uses yet. */
async function renderedTooEarly({ namespace }: Scene): Promise<KubeObject[]> {
  const data = metal3DataTemplate(namespace, "next", namespace, "v1beta1");
  const options = { namespace, name: "next", version: "v1beta1", dataTemplate: "next" } as const;
  return [await controlPlane.api.create(data), await controlPlane.api.create(metal3MachineTemplate(options))];
}

async function scaleTo(rollout: Rollout, replicas: number): Promise<void> {
  await controlPlane.api.mergePatch(refOf(await deploymentOf(rollout)), { spec: { replicas } });
}

const configTemplate = ({ namespace, old }: Rollout) => ({ ...configTemplateKind, namespace, name: old.config });

describe("without the functions", unhurried, () => {
  test.concurrent("story 2: a home-made collector asks no MachineDeployment -> its template is deleted and it never gets a machine", async () => {
    const scene = await namedByDeploymentAlone("without-story-2");
    await collectMachineTemplates(scene);
    await unpause(scene);

    await inTime("the MachineDeployment to be unpaused", async () => {
      return conditionOf(await deploymentOf(scene), "Paused")?.status === "False";
    });
    const { namespace } = scene;
    await stays(
      "the lack of machines",
      async () => {
        const sets = await controlPlane.api.list({ apiVersion: coreVersion, kind: "MachineSet", namespace });
        return sets.length === 0 && (await machinesOf(scene)).length === 0 ? undefined : "it got some";
      },
      { forMs: 10_000 },
    );
  });

  test.concurrent("story 4: a home-made collector finds a data template that no machine uses yet -> the upgrade lacks it", async () => {
    const scene = await openScene(controlPlane, "without-story-4");
    const [data] = await renderedTooEarly(scene);
    await collectDataTemplates(scene);

    expect((await templatesIn(scene)).map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ["Metal3MachineTemplate", data?.metadata.name],
    ]);
  });

  test.concurrent("story 6: a KubeadmConfigTemplate is pruned under a live MachineSet -> no machine can be added", async () => {
    const rollout = await installed(controlPlane, "without-story-6", { helm: 3, replicas: 1 });
    await controlPlane.api.delete(configTemplate(rollout));
    await scaleTo(rollout, 2);

    await untilBlocked(() => oldMachineSet(rollout));
    await stays(
      "the one machine",
      async () => ((await machinesOf(rollout)).length === 1 ? undefined : "another came"),
      {
        forMs: 10_000,
      },
    );
  });
});

describe("with the functions", unhurried, () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    caretakers = await startCaretakers(controlPlane, { env: { COLLECT_GRACE: "PT2S", RENEW_AFTER: "PT2S" } });
  });

  test.concurrent("story 2: a home-made collector asks no MachineDeployment -> its template outlives that and machines are made from it", async () => {
    const scene = await namedByDeploymentAlone("story-2");
    await untilHeld(controlPlane.api, ...scene.templates);
    await collectMachineTemplates(scene);
    await inTime("the templates to be live again", async () => {
      await caretakers.sweep();
      const templates = await templatesIn(scene);
      return templates.length === 2 && templates.every((one) => isHeld(one) && !isRetired(one));
    });
    await unpause(scene);

    await untilSettled(scene);
  });

  test.concurrent("story 4: templates are rendered that nothing uses yet -> no sweep touches them", async () => {
    const scene = await openScene(controlPlane, "story-4");
    await untilHeld(controlPlane.api, ...(await renderedTooEarly(scene)));
    const versions = async (): Promise<string> =>
      (await templatesIn(scene)).map(({ metadata }) => metadata.resourceVersion).join();
    const before = await versions();

    await stays(
      "the unused templates",
      async () => {
        await caretakers.sweep();
        return (await versions()) === before ? undefined : "they were touched";
      },
      { forMs: 8000, everyMs: 1000 },
    );
  });

  test.concurrent("story 6: a KubeadmConfigTemplate is pruned under a live MachineSet -> machines can be added, and it goes once it is replaced", async () => {
    const rollout = await installed(controlPlane, "story-6", { helm: 3, replicas: 1 });
    await untilHeld(controlPlane.api, ...(await templatesIn(rollout)));
    await controlPlane.api.delete(configTemplate(rollout));
    await scaleTo(rollout, 2);
    await untilSettled(rollout);
    await inTime("the template to be live again", async () => {
      await caretakers.sweep();
      const template = await controlPlane.api.get(configTemplate(rollout));
      return template !== undefined && !isRetired(template);
    });

    const next = await controlPlane.api.create(kubeadmConfigTemplate(rollout.namespace, "next"));
    const spec = { bootstrap: { configRef: { name: next.metadata.name } } };
    await controlPlane.api.mergePatch(refOf(await deploymentOf(rollout)), { spec: { template: { spec } } });
    await controlPlane.api.delete(configTemplate(rollout));
    await untilSettled(rollout);
    await untilOnlyTheUsedAreLeft(rollout);
    expect(await templatesInUse(rollout)).toContain("KubeadmConfigTemplate/next");
  });

  describe("while the event source is down", unhurried, () => {
    beforeAll(async () => {
      await caretakers.adapter.stop();
    });

    test("story 16: there is no sweep -> the old templates are lost", async () => {
      const rollout = await installed(controlPlane, "without-sweep", { helm: 4, replicas: 2 });
      await upgradedTo(rollout, "two");
      await untilSettled(rollout);
      await inTime("two old machines to be gone", () => rollout.standIn.records.length === 2);

      expect(foundNodeReuse(rollout)).toEqual(["no-template", "no-template"]);
    });

    test("story 16: it is down before the install and during the upgrade, and starts later -> sweeps hold, keep and collect all the same", async () => {
      const rollout = await installed(controlPlane, "with-sweep", { helm: 4, replicas: 2 });
      await caretakers.sweep();
      expect((await templatesIn(rollout)).every(isHeld)).toBe(true);

      await upgradedAndHalted(rollout);
      await caretakers.sweep();
      const old = await templatesTitled(rollout, rollout.old.titles);
      expect(old.every((template) => isHeld(template) && isRetired(template))).toBe(true);
      rollout.standIn.release();
      await untilSettled(rollout);
      await startAdapter(controlPlane, caretakers.relay.url, watchedKinds, { name: "adapter-again" });
      expect(await running(rollout, "old")).toEqual([]);
      await untilOnlyTheUsedAreLeft(rollout, () => caretakers.sweep());

      expect(foundNodeReuse(rollout)).toEqual([true, true]);
    });
  });
});
