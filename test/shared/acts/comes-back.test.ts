import { describe, expect, it } from "vitest";
import { decideComesBack } from "../../../shared/acts/comes-back.ts";
import type { UnreadKind } from "../../../shared/graph/doubts.ts";
import { ANY_KIND } from "../../../shared/graph/references.ts";
import { factsFrom } from "../../../shared/look/facts.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import {
  annotated,
  cluster,
  inNamespace,
  kubeadmConfig,
  kubeadmConfigTemplate,
  labelled,
  machineDeployment,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  namespace,
  ownedBy,
  retired,
  terminating,
  VERSIONS,
} from "../../build/objects.ts";

const CORE = "cluster.x-k8s.io";
const INFRA = "infrastructure.cluster.x-k8s.io";
const unread = (group: string, kind: string): UnreadKind => ({ group, kind, reason: "forbidden" });

interface World {
  readonly body?: KubeObject;
  readonly objects: readonly KubeObject[];
  readonly namespaces?: readonly KubeObject[];
  readonly kinds?: readonly UnreadKind[];
}

const mgmt = cluster();
const gone = terminating(ownedBy(metal3MachineTemplate("t"), mgmt));
const machine = metal3Machine("m", { clonedFrom: gone });

function decision({ body = gone, objects, namespaces = [namespace()], kinds = [] }: World): string {
  const { verdict, because } = decideComesBack(body, factsFrom(objects, namespaces, kinds));
  return `${verdict} ${because}`;
}

describe.each(VERSIONS)("a template that is gone, %s", (version) => {
  const body = terminating(ownedBy(metal3MachineTemplate("t", { version }), cluster("mgmt", { version })));
  const clone = metal3Machine("m", { version, clonedFrom: body });

  it.each<[string, readonly KubeObject[], string]>([
    ["a machine needs it", [clone], "restore needed"],
    ["a Terminating machine needs it", [terminating(clone)], "restore needed"],
    ["a deployment wants it", [machineDeployment("md", { version, uses: body })], "restore needed"],
    ["nothing needs it", [], "leave unneeded"],
    ["a namesake's machine in another namespace", [inNamespace(clone, "edge")], "leave unneeded"],
    [
      "a clone of another kind's template of its name",
      [kubeadmConfig("c", { clonedFrom: kubeadmConfigTemplate("t") })],
      "leave unneeded",
    ],
    ["it stands again", [clone, metal3MachineTemplate("t")], "leave standing"],
    [
      "a namesake stands in another namespace",
      [clone, inNamespace(metal3MachineTemplate("t"), "edge")],
      "restore needed",
    ],
  ])("%s -> %s", (_, objects, expected) => {
    expect(decision({ body, objects: [cluster("mgmt", { version }), ...objects] })).toBe(expected);
  });
});

describe("along a chain", () => {
  const data = terminating(metal3DataTemplate("d"));
  const middle = retired(metal3MachineTemplate("t", { uses: data }));

  it.each<[string, readonly KubeObject[], string]>([
    ["a retired template that a machine needs names it", [middle, machine], "restore needed"],
    ["a retired template that nothing needs names it", [middle], "leave unneeded"],
    ["an unretired template names it", [metal3MachineTemplate("t", { uses: data })], "restore needed"],
  ])("%s -> %s", (_, objects, expected) => {
    expect(decision({ body: data, objects })).toBe(expected);
  });
});

it("names who needs it", () => {
  const facts = factsFrom([mgmt, machine], [namespace()], []);
  expect(decideComesBack(gone, facts)).toEqual({ verdict: "restore", because: "needed", by: [keyOf(machine)] });
});

describe("left alone", () => {
  it.each<[string, World, string]>([
    [
      "topology-owned",
      { body: labelled(gone, { "topology.cluster.x-k8s.io/owned": "" }), objects: [mgmt, machine] },
      "leave off-limits",
    ],
    [
      "deleted for a move",
      { body: annotated(gone, { "clusterctl.cluster.x-k8s.io/delete-for-move": "" }), objects: [mgmt, machine] },
      "leave off-limits",
    ],
    [
      "opted out",
      { body: annotated(gone, { "capi-caretaker.io/retain": "false" }), objects: [mgmt, machine] },
      "leave opted-out",
    ],
    ["its Cluster is Terminating", { objects: [terminating(mgmt), machine] }, "leave cluster-gone"],
    ["its Cluster is gone", { objects: [machine] }, "leave cluster-gone"],
    [
      "one of two Clusters stays",
      { body: ownedBy(gone, cluster("b")), objects: [cluster("b"), machine] },
      "restore needed",
    ],
    [
      "no Cluster is known",
      { body: metal3MachineTemplate("t"), objects: [metal3Machine("m", { clonedFrom: gone })] },
      "restore needed",
    ],
    [
      "its namespace is Terminating",
      { objects: [mgmt, machine], namespaces: [terminating(namespace())] },
      "leave namespace-gone",
    ],
    ["its namespace is gone", { objects: [mgmt, machine], namespaces: [] }, "leave namespace-gone"],
  ])("%s -> $2", (_, world, expected) => {
    expect(decision(world)).toBe(expected);
  });
});

describe("what could not be read", () => {
  it.each<[string, World, string]>([
    ["its machines", { objects: [mgmt], kinds: [unread(INFRA, "Metal3Machine")] }, "unknown unreadable-kind"],
    ["a core kind", { objects: [mgmt], kinds: [unread(CORE, "MachineSet")] }, "unknown unreadable-kind"],
    ["a hidden kind of its group", { objects: [mgmt], kinds: [unread(INFRA, ANY_KIND)] }, "unknown unreadable-kind"],
    ["another provider's machines", { objects: [mgmt], kinds: [unread(INFRA, "FooMachine")] }, "leave unneeded"],
    [
      "bootstrap configs",
      { objects: [mgmt], kinds: [unread("bootstrap.cluster.x-k8s.io", "KubeadmConfig")] },
      "leave unneeded",
    ],
    [
      "its machines, and a deployment needs it",
      { objects: [mgmt, machineDeployment("md", { uses: gone })], kinds: [unread(INFRA, "Metal3Machine")] },
      "restore needed",
    ],
    // An empty answer that is none must not be taken for "gone".
    [
      "the Clusters, and a machine needs it",
      { objects: [machine], kinds: [unread(CORE, "Cluster")] },
      "unknown unreadable-kind",
    ],
    [
      "all core kinds, and a machine needs it",
      { objects: [machine], kinds: [unread(CORE, ANY_KIND)] },
      "unknown unreadable-kind",
    ],
    [
      "the namespaces, and a machine needs it",
      { objects: [mgmt, machine], namespaces: [], kinds: [unread("", "Namespace")] },
      "unknown unreadable-kind",
    ],
    [
      "what a doubted template names",
      {
        body: metal3DataTemplate("d"),
        objects: [retired(metal3MachineTemplate("t", { uses: metal3DataTemplate("d") }))],
        kinds: [unread(INFRA, "Metal3Machine")],
      },
      "unknown unreadable-kind",
    ],
  ])("%s -> $2", (_, world, expected) => {
    expect(decision(world)).toBe(expected);
  });
});
