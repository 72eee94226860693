import { beforeAll, expect, test } from "vitest";
import { startCapi } from "./harness/capi.ts";
import { bootstrapVersion, coreVersion, kubeadmConfigTemplate, machineDeployment } from "./harness/capi-objects.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { conditionOf, type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { startStandIn } from "./harness/stand-in.ts";
import { eventually, stays } from "./harness/wait.ts";
import { untilRolledOut } from "./harness/workload.ts";
import { type ImageServer, startImageServer } from "./scenario/image-server.ts";
import {
  controlPlaneMachines,
  createKubeadmCluster,
  kubeadmControlPlane,
  startKubelets,
  untilControlPlaneRuns,
} from "./scenario/kubeadm-control-plane.ts";
import { inTime } from "./scenario/patience.ts";
import { imageUrlOf, notesOn, type Rewriter, startRewriter } from "./scenario/rewriter.ts";

let controlPlane: ControlPlane;
let old: ImageServer;
let next: ImageServer;

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  await startCapi("capi-core", controlPlane);
  // It watches no machine's config; a difference is seen at its next visit, which would be ten minutes away.
  await startCapi("capi-kubeadm-control-plane", controlPlane, { syncPeriod: "5s" });
  startStandIn(controlPlane.api);
  await startKubelets(controlPlane.api, controlPlane.api);
  [old, next] = [await startImageServer(), await startImageServer()];
});

/** A running cluster whose control plane and worker name the old address in every place that can hold it. */
async function createCluster(namespace: string) {
  const { api } = controlPlane;
  await createKubeadmCluster(api, controlPlane, { namespace, name: namespace });
  const imageUrl = `${old.url}/images/node.qcow2`;
  const template = (name: string) =>
    api.create(metal3MachineTemplate({ namespace, name, version: "v1beta1", imageUrl }));
  const [planeTemplate, workerTemplate] = [await template("control-plane"), await template("workers")];
  const mirror = { name: "pod-infra-container-image", value: `${old.url}/images/pause` };
  const joinConfiguration = { nodeRegistration: { kubeletExtraArgs: [mirror] } };
  const config = { joinConfiguration, preKubeadmCommands: [`curl ${old.url}/images/tool`] };
  const plane = await api.create(
    kubeadmControlPlane({ namespace, name: namespace, infrastructure: planeTemplate, config }),
  );
  await untilControlPlaneRuns(api, refOf(plane));
  const bootstrap = await api.create(kubeadmConfigTemplate(namespace, "workers", { joinConfiguration }));
  const options = { namespace, name: "workers", cluster: namespace, replicas: 1, bootstrap };
  const deployment = await api.create(machineDeployment({ ...options, infrastructure: workerTemplate }));
  await untilRolledOut(api, deployment);
  return { plane, planeTemplate, workerTemplate, bootstrap, deployment };
}

async function machineNames(namespace: string): Promise<string[]> {
  const machines = await controlPlane.api.list({ apiVersion: coreVersion, kind: "Machine", namespace });
  return machines.map(({ metadata }) => metadata.name).toSorted();
}

test("story 13, without: a policy changes the config of a control-plane machine -> the control plane sees a difference and makes another machine", async () => {
  const { api } = controlPlane;
  await createCluster("policy");
  const [machine] = await controlPlaneMachines(api, "policy");
  const name = String(valueAt(machine, "spec", "bootstrap", "configRef", "name"));
  const config = { apiVersion: bootstrapVersion, kind: "KubeadmConfig", namespace: "policy", name };
  await api.mergePatch(config, { spec: { preKubeadmCommands: [`curl ${next.url}/images/tool`] } });

  await inTime("a surge machine", async () => (await controlPlaneMachines(api, "policy")).length === 2);
});

test("story 13: every template of a cluster is rewritten -> no control plane and no MachineDeployment sees a difference; the control plane's own config is refused", async () => {
  const { api } = controlPlane;
  const { plane, planeTemplate, workerTemplate, bootstrap, deployment } = await createCluster("rewritten");
  const before = await machineNames("rewritten");
  const rewriter: Rewriter = await startRewriter(controlPlane, [
    { from: `${old.url}/`, to: `${next.url}/`, namespaces: ["rewritten"] },
  ]);
  await rewriter.sweep();

  const urls = await Promise.all(
    [planeTemplate, workerTemplate].map(async (one) => imageUrlOf(await api.get(refOf(one)))),
  );
  expect(urls).toEqual(Array(2).fill(`${next.url}/images/node.qcow2`));
  const config = await api.get(refOf(bootstrap));
  const args = ["template", "spec", "joinConfiguration", "nodeRegistration", "kubeletExtraArgs", 0, "value"];
  expect(valueAt(config, "spec", ...args)).toBe(`${next.url}/images/pause`);
  const [note] = await notesOn(api, plane, "RewriteRefused");
  expect(note).toMatch(/a change of a control plane's own config rolls its machines/);

  await visitAgain(plane, deployment);
  await stays(
    "the machines",
    async () => {
      const now = await machineNames("rewritten");
      return now.join() === before.join() ? undefined : `they are ${now.join()}`;
    },
    { forMs: 10_000 },
  );
  for (const machine of await controlPlaneMachines(api, "rewritten"))
    expect(conditionOf(machine, "UpToDate")?.status).toBe("True");
  expect(valueAt(await api.get(refOf(plane)), "spec", "kubeadmConfigSpec")).toEqual(
    valueAt(plane, "spec", "kubeadmConfigSpec"),
  );
});

/** Has both controllers look at their objects again, as any event does sooner or later, and waits until they have. */
async function visitAgain(plane: KubeObject, deployment: KubeObject): Promise<void> {
  const { api } = controlPlane;
  // A label of the machines is copied in place, without a rollout, by the same turn that compares all else.
  const label = { "e2e-turn": "again" };
  const metadata = { labels: label };
  await api.mergePatch(refOf(plane), { spec: { machineTemplate: { metadata } } });
  await api.mergePatch(refOf(deployment), { spec: { template: { metadata } } });
  await eventually("both to have copied the label", async () => {
    const { namespace = "" } = plane.metadata;
    const machines = await api.list({ apiVersion: coreVersion, kind: "Machine", namespace });
    return machines.every((machine) => machine.metadata.labels?.["e2e-turn"] === "again");
  });
}
