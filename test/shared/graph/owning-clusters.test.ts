import { describe, expect, it } from "vitest";
import { buildGraph } from "../../../shared/graph/graph.ts";
import { clusterState, clustersOf, isPaused } from "../../../shared/graph/owning-clusters.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import {
  annotated,
  cluster,
  HOME,
  inNamespace,
  kubeadmControlPlane,
  labelled,
  machineDeployment,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  object,
  ownedBy,
  terminating,
  VERSIONS,
} from "../../build/objects.ts";
import { linkTemplate } from "../../build/templates-in-a-ring.ts";

const label = (one: KubeObject, name: string) => labelled(one, { "cluster.x-k8s.io/cluster-name": name });
const t = metal3MachineTemplate("t");
const [a, b] = [cluster("a"), cluster("b")];

const names = (one: KubeObject, others: readonly KubeObject[] = []) =>
  clustersOf(one, buildGraph([one, ...others])).map(({ namespace, name }) => `${namespace}/${name}`);

describe("which Clusters", () => {
  const md = (name: string, clusterName: string) => machineDeployment(name, { uses: t, clusterName });

  it.each([
    ["the owner", ownedBy(t, a), [], ["sylva/a"]],
    ["the owner before the label", label(ownedBy(t, a), "b"), [], ["sylva/a"]],
    ["every owner that is a Cluster", ownedBy(ownedBy(t, a), b), [], ["sylva/a", "sylva/b"]],
    ["an owner of another kind does not count", label(ownedBy(t, kubeadmControlPlane("cp")), "b"), [], ["sylva/b"]],
    ["a Cluster of another group does not count", ownedBy(t, object("Cluster.other.io/v1", "x")), [], []],
    ["the label", label(t, "b"), [md("md", "a")], ["sylva/b"]],
    ["an empty label is none", label(t, ""), [md("md", "a")], ["sylva/a"]],
    ["a referrer's spec.clusterName", t, [md("md", "a")], ["sylva/a"]],
    ["a referrer's label", t, [label(metal3Machine("m", { clonedFrom: t }), "a")], ["sylva/a"]],
    ["a referrer's owner", t, [ownedBy(kubeadmControlPlane("cp", { uses: t }), a)], ["sylva/a"]],
    ["several referrers, each Cluster once", t, [md("x", "a"), md("y", "b"), md("z", "a")], ["sylva/a", "sylva/b"]],
    ["a referrer that tells none", t, [metal3Machine("m", { clonedFrom: t })], []],
    ["nobody", t, [], []],
    [
      "through a template that refers to it",
      linkTemplate("end"),
      [linkTemplate("start", ["end"]), machineDeployment("md", { uses: linkTemplate("start"), clusterName: "a" })],
      ["sylva/a"],
    ],
    ["a template's own spec.clusterName is not asked", metal3DataTemplate("d"), [], []],
  ])("%s", (_, one, others, expected) => {
    expect(names(one, others)).toEqual(expected);
  });

  it("a Cluster is its own", () => expect(names(a)).toEqual(["sylva/a"]));

  it("always in the object's own namespace", () => {
    expect(names(inNamespace(ownedBy(t, a), "edge"))).toEqual(["edge/a"]);
  });

  it("a ring of templates ends", () => {
    const ring = [linkTemplate("x", ["y"]), linkTemplate("y", ["x"])] as const;
    expect(names(ring[0], [ring[1]])).toEqual([]);
    expect(names(ring[0], [ring[1], machineDeployment("md", { uses: ring[1], clusterName: "a" })])).toEqual([
      "sylva/a",
    ]);
  });
});

describe("gone", () => {
  const both = ownedBy(ownedBy(t, a), b);

  it.each([
    ["its only Cluster stays", ownedBy(t, a), [a], false],
    ["its only Cluster is Terminating", ownedBy(t, a), [terminating(a)], true],
    ["its only Cluster is not there", ownedBy(t, a), [], true],
    ["a namesake in another namespace stays", ownedBy(t, a), [inNamespace(a, "edge")], true],
    ["one of two stays", both, [a, terminating(b)], false],
    ["one of two is not there, the other stays", both, [b], false],
    ["both are leaving or gone", both, [terminating(a)], true],
    ["none is found: not gone", t, [], false],
    ["by label, not there", label(t, "a"), [], true],
    ["via a referrer, not there", t, [machineDeployment("md", { uses: t, clusterName: "a" })], true],
    ["via a referrer, Terminating", t, [machineDeployment("md", { uses: t, clusterName: "a" }), terminating(a)], true],
  ])("%s -> $3", (_, one, others, expected) => {
    expect(clusterState(one, buildGraph([one, ...others])).gone).toBe(expected);
  });
});

describe("paused", () => {
  const paused = annotated(a, { "cluster.x-k8s.io/paused": "" });
  const both = ownedBy(ownedBy(t, a), b);

  it.each([
    ["by annotation", ownedBy(t, a), [paused], true],
    ["not", ownedBy(t, a), [a], false],
    ["any one of two", both, [paused, b], true],
    ["one of two, the other gone", both, [paused], true],
    ["one that is Terminating", ownedBy(t, a), [terminating(paused)], true],
    ["a Cluster that is not there cannot be", ownedBy(t, a), [], false],
    ["a template's own annotation does not pause it", annotated(t, { "cluster.x-k8s.io/paused": "" }), [], false],
  ])("%s -> $3", (_, one, others, expected) => {
    expect(clusterState(one, buildGraph([one, ...others])).paused).toBe(expected);
  });

  it.each(VERSIONS)("by spec.paused in %s", (version) => {
    const one = ownedBy(t, a);
    expect(clusterState(one, buildGraph([one, cluster("a", { version, paused: true })])).paused).toBe(true);
  });

  it.each([
    ["spec.paused false", { spec: { paused: false } }, false],
    ["spec.paused of a wrong type", { spec: { paused: "true" } }, false],
    ["no spec at all", {}, false],
    ["spec null", { spec: null }, false],
  ])("%s -> $2", (_, fields, expected) => {
    expect(isPaused(object("Cluster.cluster.x-k8s.io/v1beta1", "a", fields))).toBe(expected);
  });
});

it("tells which Clusters it looked at", () => {
  expect(clusterState(ownedBy(t, a), buildGraph([t])).clusters).toEqual([keyOf(a)]);
  expect(keyOf(a).namespace).toBe(HOME);
});
