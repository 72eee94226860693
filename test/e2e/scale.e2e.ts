import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { type Request, requestsSince } from "./harness/audit.ts";
import { cluster, coreVersion, kubeadmConfigTemplate, machineDeployment, referenceTo } from "./harness/capi-objects.ts";
import { type CloudEvent, postCloudEvent } from "./harness/cloud-event.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { functionsNamespace, type ServedFunction, startFunction } from "./harness/functions.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3Cluster, metal3DataTemplate, metal3Machine, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf } from "./harness/objects.ts";
import { eventually } from "./harness/wait.ts";
import { metal3Version, sweepOf } from "./scenario/caretakers.ts";
import { resourceEvent } from "./scenario/events.ts";
import { isHeld, retiredAt } from "./scenario/marks.ts";

const namespace = "scale";
const users = `system:serviceaccount:${functionsNamespace}:`;
const machineCount = 1000;

let controlPlane: ControlPlane;
let retain: ServedFunction;
let collect: ServedFunction;

const template = (index: number): KubeObject =>
  metal3MachineTemplate({ namespace, name: `t-${index}`, version: "v1beta1", dataTemplate: `d-${index % 10}` });

/** A Cluster that nobody paused lately. */
const owningCluster = (): KubeObject => {
  const endpoint = { host: "127.0.0.1", port: 6443 };
  return cluster("scale", metal3Cluster(namespace, "scale", endpoint, "v1beta1"), endpoint);
};

/** Does all of it, at most 32 at a time. */
async function inParallel<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** A Machine and its Metal3Machine, made from one of the first 20 templates. */
async function createMachine(index: number): Promise<void> {
  const { api } = controlPlane;
  const host = metal3Machine(namespace, `m-${index}`, "v1beta1");
  const annotations = {
    "cluster.x-k8s.io/cloned-from-name": `t-${index % 20}`,
    "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
  };
  await api.create({ ...host, metadata: { ...host.metadata, annotations } });
  const bootstrap = { dataSecretName: `m-${index}` };
  await api.create({
    apiVersion: coreVersion,
    kind: "Machine",
    metadata: { name: `m-${index}`, namespace },
    spec: { clusterName: "scale", bootstrap, infrastructureRef: referenceTo(host) },
  });
}

/** What the functions asked the API server while something was done, answered or not. */
async function requestsDuring(act: () => Promise<unknown>): Promise<Request[]> {
  const since = new Date();
  await act();
  // The log is written as requests end, so one that came later and is in it comes after all of ours.
  const marker = `/version?marker=${randomUUID()}`;
  await controlPlane.api.raw({ path: marker });
  const all = await eventually("the audit log to be written", () => {
    const requests = requestsSince(controlPlane, since);
    return requests.some(({ requestURI }) => requestURI === marker) ? requests : undefined;
  });
  return all.filter((request) => request.user.username.startsWith(users));
}

function summary(requests: readonly Request[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verb, requestURI } of requests) {
    const what = `${verb} ${requestURI.split("?")[0]}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

beforeAll(async () => {
  controlPlane = await startManagementCluster({ audit: true });
  retain = await startFunction("retain-templates", controlPlane);
  collect = await startFunction("collect-templates", controlPlane);
  const { api } = controlPlane;
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await api.create(kubeadmConfigTemplate(namespace, "workers"));
  const { name } = (await api.create(owningCluster())).metadata;
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  await api.patchStatus(
    { apiVersion: coreVersion, kind: "Cluster", namespace, name },
    {
      conditions: [{ type: "Paused", status: "False", reason: "NotPaused", message: "", lastTransitionTime }],
    },
  );
  await inParallel(numbers(0, 10), (index) =>
    api.create(metal3DataTemplate(namespace, `d-${index}`, "scale", "v1beta1")),
  );
  await inParallel(numbers(0, 20), (index) => api.create(template(index)));
  await inParallel(numbers(0, machineCount), createMachine);
});

test("200 templates instead of 20, some of them retired -> a sweep asks the API server just as often", async () => {
  const { api } = controlPlane;
  const asked: Record<string, number>[] = [];
  const templates = { apiVersion: metal3Version, kind: "Metal3MachineTemplate", namespace };
  for (const [from, to] of [
    [0, 20],
    [20, 200],
  ] as const) {
    if (from > 0) await inParallel(numbers(from, to), (index) => api.create(template(index)));
    // The first sweeps hold what is new; then some are retired while needed, and recorded.
    await sweepOf(retain);
    if (from === 0) await inParallel(numbers(0, 4), (index) => api.delete(refOf(template(index))));
    await sweepOf(retain);
    await sweepOf(collect);
    asked.push(
      summary(
        await requestsDuring(async () => {
          await sweepOf(retain);
          await sweepOf(collect);
        }),
      ),
    );
    const live = await api.list(templates);
    expect(live).toHaveLength(to);
    expect(live.every(isHeld)).toBe(true);
    expect(live.filter(({ metadata }) => metadata.annotations?.[retiredAt] !== undefined)).toHaveLength(4);
  }
  expect(asked[1]).toEqual(asked[0]);
  const others = Object.keys(asked[0] ?? {}).filter((what) => !/^list |^get \/apis?(\/[^/]+){0,2}$/.test(what));
  expect(others).toEqual([]);
});

const workers = (): KubeObject =>
  machineDeployment({
    namespace,
    name: "workers",
    cluster: "scale",
    infrastructure: template(10),
    bootstrap: kubeadmConfigTemplate(namespace, "workers"),
  });

test.each([
  ["a template changes", "update", () => template(11), ["t-11", "d-1"]],
  ["a Cluster changes", "update", owningCluster, []],
  ["a MachineDeployment changes", "update", workers, ["t-10", "workers"]],
  [
    "an infrastructure machine is deleted",
    "delete",
    () => ({ ...metal3Machine(namespace, "m-12", "v1beta1") }),
    ["t-12"],
  ],
  [
    "a Machine is deleted",
    "delete",
    () => ({ ...metal3Machine(namespace, "m-12", "v1beta1"), apiVersion: coreVersion, kind: "Machine" }),
    [],
  ],
] as [string, "update" | "delete", () => KubeObject, string[]][])(
  "%s and nothing it names is retired -> one GET per template, no list, no write",
  async (_, action, objectOf, names) => {
    const { api } = controlPlane;
    const object = objectOf();
    const live = (await api.get(refOf(object))) ?? (await api.create(object));
    const event: CloudEvent = resourceEvent(action, live);
    // What a function learns once in its life, where each kind is served, is known after the first event.
    await postCloudEvent(collect.url, event);

    const requests = await requestsDuring(async () => {
      for (const { url } of [retain, collect]) expect(await postCloudEvent(url, event)).toMatchObject({ status: 204 });
    });

    expect(requests.map(({ verb }) => verb)).toEqual(names.map(() => "get"));
    expect(requests.map(({ objectRef }) => objectRef?.name).toSorted()).toEqual(names.toSorted());
  },
);
