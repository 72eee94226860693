import { beforeAll, describe, expect, test } from "vitest";
import { startCapi } from "./harness/capi.ts";
import { type Outcome, run } from "./harness/command.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { helm } from "./harness/helm.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf } from "./harness/objects.ts";
import { projectFolder } from "./harness/paths.ts";
import { type StandIn, startStandIn } from "./harness/stand-in.ts";
import { eventually, stays } from "./harness/wait.ts";
import { type Caretakers, startCaretakers } from "./scenario/caretakers.ts";
import { untilGone, untilHeld } from "./scenario/marks.ts";
import { startNeedyControlPlanes } from "./scenario/needy-control-plane.ts";
import {
  chartOf,
  createWholeCluster,
  kubeadmControlPlane,
  machinesOf,
  remainsOf,
  untilUp,
  type WholeCluster,
  wholeCluster,
} from "./scenario/whole-release.ts";

let controlPlane: ControlPlane;
let standIn: StandIn;

const namespaceOf = (name: string) => ({ apiVersion: "v1", kind: "Namespace", name });

async function helmOk(major: 3 | 4, args: readonly string[]): Promise<Outcome> {
  const outcome = await helm(major, controlPlane, args);
  expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
  return outcome;
}

/** Installs a whole cluster as one release and waits until its machines have hosts. */
async function install(major: 3 | 4, name: string): Promise<WholeCluster> {
  const whole = wholeCluster(name, name);
  await helmOk(major, ["install", name, chartOf(whole), "-n", name, "--create-namespace"]);
  await untilUp(controlPlane, whole);
  return whole;
}

async function standing(objects: readonly KubeObject[]): Promise<string[]> {
  const live = await Promise.all(objects.map((object) => controlPlane.api.get(refOf(object))));
  return live.flatMap((object) => (object === undefined ? [] : [object.metadata.name]));
}

async function untilDeletionsBegan(whole: WholeCluster): Promise<void> {
  await eventually("every machine to be Terminating", async () => {
    const machines = await machinesOf(controlPlane.api, whole);
    return machines.length === 3 && machines.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
  });
}

async function untilNothingIsLeft(whole: WholeCluster, timeoutMs = 60_000): Promise<void> {
  await eventually(
    `nothing of ${whole.name} to be left`,
    async () => {
      const remains = await remainsOf(controlPlane.api, whole);
      if (remains.length === 0) return true;
      throw new Error(remains.map(({ kind, name }) => `${kind} ${name}`).join(", "));
    },
    { timeoutMs },
  );
}

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  await startCapi("capi-core", controlPlane);
  standIn = startStandIn(controlPlane.api);
  startNeedyControlPlanes(controlPlane.api);
});

describe("without", () => {
  test("story 7: the whole release is uninstalled at once -> the control plane can never finish", async () => {
    const whole = await install(3, "uninstalled-without");
    const [ofControlPlane] = whole.templates as [KubeObject, ...KubeObject[]];

    // No machine is gone before the templates are, as it is with real hosts.
    standIn.holdDeletions();
    await helmOk(3, ["uninstall", whole.name, "-n", whole.namespace]);
    await untilGone(controlPlane.api, whole.templates);
    standIn.release();

    await eventually("the workers to be gone", async () => (await machinesOf(controlPlane.api, whole)).length <= 1);
    await stays(
      "the control plane",
      async () => {
        const left = await standing([whole.controlPlane, whole.cluster]);
        return left.length === 2 ? undefined : `only ${left.join()} is left`;
      },
      { forMs: 5000 },
    );
    // A person who knows creates the template again by hand.
    await controlPlane.api.create(ofControlPlane);
    await untilGone(controlPlane.api, [whole.cluster]);
  });

  test("a namespace is deleted -> the templates go before the machines that were made from them", async () => {
    const whole = wholeCluster("namespace-without", "ns");
    await createWholeCluster(controlPlane, whole);
    standIn.holdDeletions();
    await controlPlane.api.delete(namespaceOf(whole.namespace));
    await untilGone(controlPlane.api, whole.templates);
    expect(await machinesOf(controlPlane.api, whole)).toHaveLength(3);
    standIn.release();
    await eventually("the machines to be gone", async () => (await machinesOf(controlPlane.api, whole)).length === 0);
    // What keeps the control plane from finishing here is the template that it needs, as in story 7.
    expect(await standing([whole.controlPlane])).toEqual(["ns"]);
  });
});

describe("with", () => {
  let caretakers: Caretakers;

  beforeAll(async () => {
    caretakers = await startCaretakers(controlPlane);
  });

  test("an unused template is deleted -> it is gone at once, by its event alone", async () => {
    const { api } = controlPlane;
    const namespace = "unused";
    await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const template = await api.create(metal3MachineTemplate({ namespace, name: "never-used", version: "v1beta1" }));
    await untilHeld(api, template);
    await api.delete(refOf(template));
    await untilGone(api, [template]);
  });

  test("a namespace is deleted -> its templates stay until the last machine is gone, and then it goes", async () => {
    const { api } = controlPlane;
    const whole = wholeCluster("namespace-with", "ns");
    await createWholeCluster(controlPlane, whole);
    await untilHeld(api, ...whole.templates);
    standIn.holdDeletions();
    await api.delete(namespaceOf(whole.namespace));
    await untilDeletionsBegan(whole);
    await stays(
      "every template",
      async () => {
        const left = await standing(whole.templates.slice(0, 2));
        return left.length === 2 ? undefined : `only ${left.join()} is left`;
      },
      { forMs: 3000 },
    );
    standIn.release();
    await eventually("the namespace to be gone", async () => {
      const live = await api.get(namespaceOf(whole.namespace));
      if (live === undefined) return true;
      throw new Error(JSON.stringify(live.status));
    });
  });

  test("a Cluster is deleted -> owner garbage collection takes its templates after the last machine", async () => {
    const { api } = controlPlane;
    const whole = wholeCluster("cluster-with", "owner");
    await createWholeCluster(controlPlane, whole);
    await untilHeld(api, ...whole.templates);
    await eventually("the templates of the workers to be owned by the Cluster", async () => {
      const live = await Promise.all(whole.templates.slice(1).map((template) => api.get(refOf(template))));
      return live.every((template) => template?.metadata.ownerReferences?.some(({ kind }) => kind === "Cluster"));
    });
    standIn.holdDeletions();
    await api.delete(refOf(whole.cluster));
    await eventually("both workers to be Terminating", async () => {
      const machines = await machinesOf(api, whole);
      return machines.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length === 2;
    });
    expect(await standing(whole.templates)).toHaveLength(3);
    standIn.release();
    await untilGone(api, [whole.cluster, ...whole.templates.slice(1)]);
    // Nobody asked to delete this one: RKE2's own controller would have made the Cluster its owner.
    await api.delete(refOf(whole.templates[0] as KubeObject));
    await untilNothingIsLeft(whole);
  });

  test.each([
    [3, []],
    [3, ["--wait"]],
    [4, []],
    [4, ["--wait"]],
  ] as [3 | 4, string[]][])(
    "story 7: the whole release is uninstalled at once by Helm %i %j -> held until its machines are gone, then nothing is left",
    async (major, wait) => {
      const { api } = controlPlane;
      const whole = await install(major, `uninstalled-${major}${wait.join("")}`);
      await untilHeld(api, ...whole.templates);
      standIn.holdDeletions();
      const uninstall = helm(major, controlPlane, [
        "uninstall",
        whole.name,
        "-n",
        whole.namespace,
        "--timeout=120s",
        ...wait,
      ]);
      if (wait.length === 0) expect(await uninstall).toMatchObject({ code: 0 });
      await untilDeletionsBegan(whole);
      expect(await standing(whole.templates.slice(0, 2))).toHaveLength(2);
      standIn.release();
      expect(await uninstall).toMatchObject({ code: 0 });
      // Helm has waited for all of it; what it did not install may take a moment longer.
      if (wait.length > 0) expect(await standing([...whole.templates, whole.controlPlane, whole.cluster])).toEqual([]);
      await untilNothingIsLeft(whole);
    },
  );

  test("story 7: a release with a KubeadmControlPlane is uninstalled at once -> its own controller finishes, then nothing is left", async () => {
    const { api } = controlPlane;
    const manager = await startCapi("capi-kubeadm-control-plane", controlPlane);
    const name = "uninstalled-kubeadm";
    const whole = wholeCluster(name, name, kubeadmControlPlane);
    await helmOk(4, ["install", name, chartOf(whole), "-n", name, "--create-namespace"]);
    await untilUp(controlPlane, whole);
    await untilHeld(api, ...whole.templates);
    standIn.holdDeletions();
    await helmOk(4, ["uninstall", name, "-n", name]);
    // It lets its own machine go only after the workers.
    await eventually("both workers to be Terminating", async () => {
      const machines = await machinesOf(api, whole);
      return machines.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length === 2;
    });
    expect(await standing(whole.templates.slice(0, 2))).toHaveLength(2);
    standIn.release();
    await untilNothingIsLeft(whole);
    await manager.stop();
  });

  test("story 8: the functions are removed before the namespace -> one command releases every hold", async () => {
    const { api } = controlPlane;
    const whole = wholeCluster("operator-removed", "orphan");
    await createWholeCluster(controlPlane, whole);
    await untilHeld(api, ...whole.templates);
    await caretakers.remove();

    await api.delete(namespaceOf(whole.namespace));
    await eventually("all machines to be gone", async () => (await machinesOf(api, whole)).length === 0);
    await stays(
      "the Terminating namespace",
      async () => {
        const left = await standing(whole.templates);
        return left.length === 3 ? undefined : `only ${left.join()} is left`;
      },
      { forMs: 3000 },
    );

    const script = `${projectFolder}/cli/release.ts`;
    const env = { KUBECONFIG: controlPlane.kubeconfig };
    const released = await run(process.execPath, [script, "--namespace", whole.namespace], { env });
    expect(released, released.stderr).toMatchObject({ code: 0 });
    expect(released.stdout).toContain("3 objects released; 3 were Terminating and are gone");
    await eventually(
      "the namespace to be gone",
      async () => (await api.get(namespaceOf(whole.namespace))) === undefined,
    );
  });
});
