import { describe, expect, it } from "vitest";
import { buildGraph } from "../../../shared/graph/graph.ts";
import { wantedBy } from "../../../shared/graph/wanted.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import {
  cluster,
  clusterClass,
  HOME,
  inNamespace,
  kubeadmConfig,
  kubeadmConfigTemplate,
  kubeadmControlPlane,
  labelled,
  machine,
  machineDeployment,
  machineHealthCheck,
  machinePool,
  machineSet,
  metal3Data,
  metal3DataClaim,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  object,
  ownedBy,
  referenceTo,
  retired,
  rke2ControlPlane,
  terminating,
  VERSIONS,
} from "../../build/objects.ts";

const mgmt = cluster("mgmt");

function wanting(target: KubeObject, others: readonly KubeObject[], leaving: readonly string[] = []) {
  const graph = buildGraph([target, ...others]);
  return wantedBy(keyOf(target), graph, (namespace) => leaving.includes(namespace)).map(
    ({ kind, name }) => `${kind} ${name}`,
  );
}

describe.each(VERSIONS)("a current spec asks for it, %s", (version) => {
  const t = terminating(metal3MachineTemplate("t", { version }));
  const b = terminating(kubeadmConfigTemplate("b", { version }));
  const d = terminating(metal3DataTemplate("d", { version }));
  const md = machineDeployment("md", { version, uses: t });

  const rows: readonly [string, KubeObject, KubeObject, boolean][] = [
    ["a MachineDeployment", t, md, true],
    ["a MachineSet without a MachineDeployment", t, machineSet("ms", { version, uses: t }), true],
    ["a MachineSet of a MachineDeployment", t, ownedBy(machineSet("ms", { version, uses: t }), md, true), false],
    ["a MachineSet of something else", t, ownedBy(machineSet("ms", { version, uses: t }), mgmt), true],
    ["a MachinePool", t, machinePool("mp", { version, uses: t }), true],
    ["a KubeadmControlPlane", t, kubeadmControlPlane("cp", { version, uses: t }), true],
    ["an RKE2ControlPlane", t, rke2ControlPlane("cp", { version, uses: t }), true],
    ["a ClusterClass", b, clusterClass("class", { version, uses: b }), true],
    ["a MachineHealthCheck", t, machineHealthCheck("mhc", { version, uses: t }), true],
    ["an unretired template", d, metal3MachineTemplate("new", { version, uses: d }), true],
    ["a retired template", d, retired(metal3MachineTemplate("old", { version, uses: d })), false],
    ["a Terminating template", d, terminating(metal3MachineTemplate("old", { version, uses: d })), false],
    ["a machine made from it", t, metal3Machine("m", { version, clonedFrom: t }), false],
    ["a machine that names its data", d, metal3Machine("m", { version, uses: d }), false],
    ["rendered data", d, metal3Data("data", { version, uses: d }), false],
    ["a data claim", d, metal3DataClaim("claim", { version, uses: d }), false],
    ["a config made from it", b, kubeadmConfig("c", { version, clonedFrom: b }), false],
    ["a Machine", t, machine("m", { version, uses: t }), false],
  ];

  it.each(rows)("%s -> $3", (_, target, referrer, expected) => {
    expect(wanting(target, [mgmt, referrer])).toEqual(expected ? [`${referrer.kind} ${referrer.metadata.name}`] : []);
  });

  it.each(rows)("%s, Terminating -> nobody wants it", (_, target, referrer) => {
    expect(wanting(target, [mgmt, terminating(referrer)])).toEqual([]);
  });

  it.each(rows)("%s in a namespace that is leaving -> nobody wants it", (_, target, referrer) => {
    expect(wanting(target, [mgmt, referrer], [HOME])).toEqual([]);
  });
});

describe("a control plane nobody listed", () => {
  it("wants the template deep in its spec", () => {
    const t = metal3MachineTemplate("t");
    const spec = { nodes: [{ ref: referenceTo(t, "v1beta2") }] };
    expect(wanting(t, [object("FooControlPlane.controlplane.cluster.x-k8s.io/v1", "cp", { spec })])).toEqual([
      "FooControlPlane cp",
    ]);
  });
});

describe("the Cluster of the one that asks", () => {
  const t = metal3MachineTemplate("t");
  const md = machineDeployment("md", { uses: t });
  const owned = ownedBy(kubeadmControlPlane("cp", { uses: t }), mgmt);
  const free = kubeadmControlPlane("cp", { uses: t });

  it.each([
    ["stays", [md, mgmt], ["MachineDeployment md"]],
    ["is Terminating", [md, terminating(mgmt)], []],
    ["is gone", [md], []],
    ["stands in another namespace only", [md, inNamespace(mgmt, "edge")], []],
    ["by owner, stays", [owned, mgmt], ["KubeadmControlPlane cp"]],
    ["by owner, is Terminating", [owned, terminating(mgmt)], []],
    ["by owner, is gone", [owned], []],
    ["by label, is gone", [labelled(free, { "cluster.x-k8s.io/cluster-name": "other" }), mgmt], []],
    ["is not told: that is not gone", [free], ["KubeadmControlPlane cp"]],
  ])("%s", (_, others, expected) => {
    expect(wanting(t, others)).toEqual(expected);
  });
});

describe("who else asks does not matter", () => {
  const t = metal3MachineTemplate("t");

  it("one of several in a leaving Cluster -> the other still wants it", () => {
    const leaving = machineDeployment("old", { uses: t, clusterName: "old" });
    const staying = machineDeployment("md", { uses: t });
    expect(wanting(t, [leaving, staying, mgmt, terminating(cluster("old"))])).toEqual(["MachineDeployment md"]);
  });

  it("equal names in two namespaces", () => {
    const there = inNamespace(machineDeployment("md", { uses: t }), "edge");
    expect(wanting(t, [there, inNamespace(mgmt, "edge"), mgmt])).toEqual([]);
  });

  it("equal names of different kinds", () => {
    const boot = kubeadmConfigTemplate("t");
    expect(wanting(t, [machineDeployment("md", { uses: boot }), mgmt])).toEqual([]);
  });
});
