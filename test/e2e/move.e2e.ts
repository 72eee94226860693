import { beforeAll, describe, expect, test } from "vitest";
import { startCapi } from "./harness/capi.ts";
import { kubeadmConfigTemplate, machineDeployment } from "./harness/capi-objects.ts";
import { clusterctl } from "./harness/clusterctl.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { type StandIn, startStandIn } from "./harness/stand-in.ts";
import { eventually } from "./harness/wait.ts";
import { createWorkload, untilRolledOut } from "./harness/workload.ts";
import { type Caretakers, metal3Version, startCaretakers } from "./scenario/caretakers.ts";
import { isHeld, retiredAt, retiredLabel, untilGone, untilHeld } from "./scenario/marks.ts";

// What our own mark alone says is retired waits this long before we ask for its deletion.
const env = { COLLECT_GRACE: "PT1S" };

interface Side {
  controlPlane: ControlPlane;
  standIn: StandIn;
}

let source: Side;
let target: Side;

interface Rollout {
  namespace: string;
  deployment: KubeObject;
  before: KubeObject;
  after: KubeObject;
  bootstrap: KubeObject;
}

/** A MachineDeployment of two machines on the source, made from the first of two templates. */
async function startWorkers(namespace: string): Promise<Rollout> {
  const { controlPlane } = source;
  const { api } = controlPlane;
  await createWorkload(controlPlane, { namespace, name: namespace });
  const template = (name: string): KubeObject => metal3MachineTemplate({ namespace, name, version: "v1beta1" });
  const [before, after] = [await api.create(template("before")), await api.create(template("after"))];
  const bootstrap = await api.create(kubeadmConfigTemplate(namespace, "workers"));
  const options = { namespace, name: "workers", cluster: namespace, replicas: 2, infrastructure: before, bootstrap };
  const deployment = await api.create(machineDeployment(options));
  await untilRolledOut(api, deployment);
  return { namespace, deployment, before, after, bootstrap };
}

/** Changes to the second template and stops as soon as the first old machine is Terminating, all nodes being there. */
async function stopMidway({ deployment, after }: Rollout): Promise<void> {
  const { controlPlane, standIn } = source;
  const { api } = controlPlane;
  standIn.holdDeletions();
  const infrastructureRef = { name: after.metadata.name };
  await api.mergePatch(refOf(deployment), { spec: { template: { spec: { infrastructureRef } } } });
  const { namespace = "" } = deployment.metadata;
  await eventually("an old machine to be Terminating beside a new one with a node", async () => {
    const machines = await api.list({ apiVersion: deployment.apiVersion, kind: "Machine", namespace });
    const isTerminating = machines.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
    return isTerminating && machines.length === 4 && machines.every((one) => valueAt(one, "status", "nodeRef"));
  });
}

/** Moves a namespace from the source to the target with the real clusterctl; the infrastructure is there at once. */
async function move(namespace: string): Promise<void> {
  const to = ["--to-kubeconfig", target.controlPlane.kubeconfig, "--namespace", namespace];
  const { code, stderr } = await clusterctl(["move", "--kubeconfig", source.controlPlane.kubeconfig, ...to]);
  expect(code, stderr).toBe(0);
  const infrastructure = { apiVersion: metal3Version, kind: "Metal3Cluster", namespace, name: namespace };
  await target.controlPlane.api.patchStatus(infrastructure, { ready: true });
}

beforeAll(async () => {
  const controlPlane = await startManagementCluster({ name: "source" });
  source = { controlPlane, standIn: startStandIn(controlPlane.api) };
  await startCapi("capi-core", controlPlane);
  const other = await startManagementCluster({ name: "target" });
  // The workload cluster stays where it is, which here is on the source's API server.
  target = { controlPlane: other, standIn: startStandIn(other.api, { workload: controlPlane.api }) };
  await startCapi("capi-core", other);
});

test("without: a rollout is moved after its old template was deleted -> the machines released at the target find no template", async () => {
  const rollout = await startWorkers("without");
  const { api } = target.controlPlane;
  await stopMidway(rollout);
  await source.controlPlane.api.delete(refOf(rollout.before));
  await move(rollout.namespace);
  await untilRolledOut(api, rollout.deployment);
  await eventually("both old machines to be released", () => target.standIn.records.length === 2);
  expect(target.standIn.records.map(({ template, found }) => [template, found])).toEqual(
    Array(2).fill(["before", "no-template"]),
  );
});

describe("with", () => {
  let caretakers: { source: Caretakers; target: Caretakers };

  beforeAll(async () => {
    source.standIn.release();
    target.standIn.records.length = 0;
    caretakers = {
      source: await startCaretakers(source.controlPlane, { env }),
      target: await startCaretakers(target.controlPlane, { env }),
    };
  });

  test("stories 5 and 10: a rollout is moved midway -> nothing blocks it, marks arrive, and the target collects at the end", async () => {
    const rollout = await startWorkers("with");
    const { namespace, before, after, bootstrap, deployment } = rollout;
    const { api } = source.controlPlane;
    await untilHeld(api, before, after, bootstrap);
    // As if it had been deleted before it ever had a hold, while the MachineDeployment names it: restored.
    caretakers.source.relay.pause();
    await api.mergePatch(refOf(bootstrap), { metadata: { finalizers: [] } });
    await api.delete(refOf(bootstrap));
    await untilGone(api, [bootstrap]);
    caretakers.source.relay.resume();
    await untilHeld(api, bootstrap);
    await stopMidway(rollout);
    await api.delete(refOf(before));
    await eventually("its deletion to be recorded", async () => {
      return (await api.get(refOf(before)))?.metadata.annotations?.[retiredAt];
    });

    await move(namespace);

    const arrived = target.controlPlane.api;
    const live = await arrived.get({ apiVersion: deployment.apiVersion, kind: "Cluster", namespace, name: namespace });
    const templates = await Promise.all([before, after, bootstrap].map((template) => arrived.get(refOf(template))));
    expect(templates.map(isHeld)).toEqual([true, true, true]);
    expect(templates.map((template) => template?.metadata.deletionTimestamp)).toEqual(Array(3).fill(undefined));
    const marked = templates.map((template) => template?.metadata.annotations?.[retiredAt] !== undefined);
    expect(marked).toEqual([true, false, true]);
    expect(templates[0]?.metadata.labels?.[retiredLabel]).toBeDefined();
    for (const template of templates) {
      expect(template?.metadata.ownerReferences).toMatchObject([{ kind: "Cluster", uid: live?.metadata.uid }]);
    }
    await untilGone(api, [before, after, bootstrap, deployment]);

    await untilRolledOut(arrived, deployment);
    await eventually("both old machines to be released", () => target.standIn.records.length === 2);
    expect(target.standIn.records.map(({ template, found }) => [template, found])).toEqual(
      Array(2).fill(["before", true]),
    );
    await eventually("the old template to be collected", async () => {
      await caretakers.target.sweep();
      return (await arrived.get(refOf(before))) === undefined;
    });
    // What the MachineDeployment names stays, the restored one too, although it is still marked as retired.
    expect(await arrived.get(refOf(after))).toBeDefined();
    expect(await arrived.get(refOf(bootstrap))).toBeDefined();
    for (const { relay } of Object.values(caretakers)) {
      await relay.idle();
      expect(relay.deliveries.filter(({ outcome }) => outcome === "dead-letter")).toEqual([]);
    }
    expect(await api.list({ apiVersion: metal3Version, kind: "Metal3MachineTemplate", namespace })).toEqual([]);
  });
});
