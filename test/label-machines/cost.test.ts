import { expect, test } from "vitest";
import { handle } from "../../functions/label-machines/index.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { bench } from "../build/bench.ts";
import { machineSet, object, ownedBy } from "../build/objects.ts";
import { notingRequests } from "../build/requests.ts";
import {
  bareKcp,
  changed,
  cluster,
  config,
  kcp,
  machine,
  replaced,
  secrets,
  withExistence,
  without,
  worker,
  world,
} from "./build.ts";

const all = world();
const plane = ownedBy(bareKcp, cluster, true);
const unmarked = replaced(all, plane);
const owned = ownedBy(machine("cp-1"), plane, true);
const bare = changed(cluster, { spec: { controlPlaneRef: null } });

function counted(objects: readonly KubeObject[]) {
  const made: string[] = [];
  return { made, on: bench(objects, {}, (inner) => notingRequests(withExistence(inner), made)) };
}

test.each<readonly [situation: string, about: KubeObject, requests: readonly string[], objects: readonly KubeObject[]]>(
  [
    ["its control plane", plane, [], unmarked],
    ["its Cluster", cluster, ["get KubeadmControlPlane"], unmarked],
    ["its Cluster, which names no control plane", bare, [], unmarked],
    ["a machine of its control plane", owned, ["get KubeadmControlPlane"], unmarked],
    ["a worker", ownedBy(worker, machineSet("s"), true), [], unmarked],
    ["a machine that nobody controls", machine("cp-1"), ["get Cluster", "get KubeadmControlPlane"], unmarked],
    ["the same, its Cluster names no control plane", machine("cp-1"), ["get Cluster"], replaced(unmarked, bare)],
    ["the same, its Cluster is gone", machine("cp-1"), ["get Cluster"], without(unmarked, cluster)],
    ["the config of a control-plane machine", config("cp-1"), ["get Cluster", "get KubeadmControlPlane"], unmarked],
    ["the config of a worker", changed(config("w"), { spec: null }), [], unmarked],
    ["another kind", object("ConfigMap.v1", "x"), [], unmarked],
  ],
)("nobody opted in, %s changes -> requests", async (_, about, requests, objects) => {
  const { on, made } = counted(objects);
  expect(await on.send(handle, "update", about)).toEqual({ acts: [], counts: {} });
  expect(made).toEqual(requests);
});

test("a sweep where nobody opted in -> one list of metadata per kind that a person may mark", async () => {
  const { on, made } = counted(unmarked);
  await on.sweep(handle);
  expect(made).toEqual(["discover", "list Cluster (metadata)", "list KubeadmControlPlane (metadata)"]);
});

test("a refusal that is told already, and an event -> it is looked at, nothing is written or told", async () => {
  const { on, made } = counted(without(all, secrets[0] ?? kcp));
  await on.send(handle, "update", kcp);
  made.length = 0;
  await on.send(handle, "update", await on.live(kcp));
  expect(made.filter((one) => !/^(get|exists) /.test(one))).toEqual(["list Machine", "list KubeadmConfig"]);
});
