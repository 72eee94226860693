import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { startAdapter } from "./harness/adapter.ts";
import { startCapi } from "./harness/capi.ts";
import { kubeadmConfigTemplate, machineDeployment } from "./harness/capi-objects.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { startRelay } from "./harness/relay.ts";
import { type StandIn, startStandIn } from "./harness/stand-in.ts";
import { tearDown } from "./harness/teardown.ts";
import { eventually } from "./harness/wait.ts";
import { createWorkload, untilRolledOut } from "./harness/workload.ts";

const namespace = "smoke";
const metal3Template = { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1", kind: "Metal3MachineTemplate" };
const template = (name: string): KubeObject => metal3MachineTemplate({ namespace, name, version: "v1beta1" });

/** Command lines of the processes that this one has started and that still run. */
function children(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      return parent === String(process.pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")] : [];
    } catch {
      // It ended while it was looked at.
      return [];
    }
  });
}

let controlPlane: ControlPlane;
let standIn: StandIn;

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  await startCapi("capi-core", controlPlane);
  standIn = startStandIn(controlPlane.api);
  await createWorkload(controlPlane, { namespace, name: "mgmt" });
});

test("a MachineDeployment becomes available and a change of template rolls it to its end", async () => {
  const { api } = controlPlane;
  const [before, after] = [await api.create(template("workers-1")), await api.create(template("workers-2"))];
  const bootstrap = await api.create(kubeadmConfigTemplate(namespace, "workers"));
  const options = { namespace, name: "workers", cluster: "mgmt", bootstrap };
  const deployment = await api.create(machineDeployment({ ...options, infrastructure: before }));
  await untilRolledOut(api, deployment);

  await api.mergePatch(refOf(deployment), {
    spec: { template: { spec: { infrastructureRef: { name: after.metadata.name } } } },
  });
  await untilRolledOut(api, deployment);
  await eventually("three old machines to be gone", () => standIn.records.length === 3);

  expect(standIn.records.map(({ template: name, found }) => [name, found])).toEqual(Array(3).fill(["workers-1", true]));
  expect(standIn.errors).toEqual([]);
  const machines = await api.list({ apiVersion: metal3Template.apiVersion, kind: "Metal3Machine", namespace });
  const clonedFrom = machines.map(({ metadata }) => metadata.annotations?.["cluster.x-k8s.io/cloned-from-name"]);
  expect(clonedFrom.toSorted()).toEqual([...Array(3).fill("workers-2"), undefined]);
});

test("the adapter delivers what changes once it is up, and the relay passes it on", async () => {
  const { api } = controlPlane;
  const [source, receiver] = [await startRelay(), await startRelay()];
  source.deliverTo("receiver", receiver.url, ({ attributes }) => attributes.kind === "Metal3MachineTemplate");
  await startAdapter(controlPlane, source.url, [metal3Template]);

  const created = await api.create(template("announced"));
  await api.delete(refOf(created));

  await eventually("both events", () => receiver.received.length === 2);
  const [add, deletion] = receiver.received;
  expect(add?.attributes).toMatchObject({ type: "dev.knative.apiserver.resource.add", name: "announced", namespace });
  expect(deletion?.attributes.type).toBe("dev.knative.apiserver.resource.delete");
  expect(valueAt(deletion?.data, "metadata", "uid")).toBe(created.metadata.uid);
});

test("a teardown leaves no process behind", async () => {
  expect(children()).not.toEqual([]);
  await tearDown();
  expect(children()).toEqual([]);
});
