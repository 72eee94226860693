import { describe, expect, it } from "vitest";
import { buildGraph } from "../../../shared/graph/graph.ts";
import { keyOf, keyText } from "../../../shared/objects/object.ts";
import {
  inNamespace,
  kubeadmConfigTemplate,
  kubeadmControlPlane,
  machineSet,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  object,
  VERSIONS,
} from "../../build/objects.ts";

const template = metal3MachineTemplate("t");

describe("edges", () => {
  it.each(VERSIONS)("a %s reference and its template of the other version meet: keys hold no version", (version) => {
    const stored = metal3MachineTemplate("t", { version: version === "v1beta1" ? "v1beta2" : "v1beta1" });
    const referrer = machineSet("ms", { version, uses: metal3MachineTemplate("t", { version }) });
    const graph = buildGraph([stored, referrer]);
    expect(graph.referrersOf(keyOf(stored)).map(({ referrer }) => referrer)).toEqual([keyOf(referrer)]);
    expect(graph.referencesFrom(keyOf(referrer)).map(({ target }) => target)).toEqual([keyOf(stored)]);
    expect(graph.missing()).toEqual([]);
  });

  it("one referrer that names one target twice -> both edges, each with its path", () => {
    const ref = { apiVersion: template.apiVersion, kind: template.kind, name: "t" };
    const spec = { infrastructureRef: ref, machineTemplate: { infrastructureRef: ref } };
    const rke2 = object("RKE2ControlPlane.controlplane.cluster.x-k8s.io/v1beta1", "cp", { spec });
    expect(
      buildGraph([template, rke2])
        .referrersOf(keyOf(template))
        .map(({ path }) => path),
    ).toEqual(["spec.infrastructureRef", "spec.machineTemplate.infrastructureRef"]);
  });

  it("equal names in two namespaces are two objects", () => {
    const there = inNamespace(template, "edge");
    const graph = buildGraph([template, there, inNamespace(machineSet("ms", { uses: template }), "edge")]);
    expect(graph.referrersOf(keyOf(template))).toEqual([]);
    expect(graph.referrersOf(keyOf(there))).toHaveLength(1);
    expect(graph.get(keyOf(there))).toBe(there);
  });

  it("equal names of different kinds are two objects", () => {
    const boot = kubeadmConfigTemplate("t");
    const graph = buildGraph([template, boot, machineSet("ms", { uses: boot })]);
    expect(graph.referrersOf(keyOf(template))).toEqual([]);
    expect(graph.referrersOf(keyOf(boot))).toHaveLength(1);
  });

  it("what nobody names has no referrers, what is not there is undefined", () => {
    const graph = buildGraph([]);
    expect(graph.referrersOf(keyOf(template))).toEqual([]);
    expect(graph.referencesFrom(keyOf(template))).toEqual([]);
    expect(graph.get(keyOf(template))).toBeUndefined();
  });
});

describe("missing", () => {
  it("names every reference whose target does not exist, with referrer and path", () => {
    const data = metal3DataTemplate("gone");
    const clone = metal3Machine("m", { clonedFrom: template, uses: data });
    expect(buildGraph([clone, template]).missing()).toEqual([
      { referrer: keyOf(clone), path: "spec.dataTemplate", target: keyOf(data) },
    ]);
  });

  it("a target of the right name in another namespace is still missing", () => {
    const referrer = kubeadmControlPlane("cp", { uses: template });
    expect(buildGraph([referrer, inNamespace(template, "edge")]).missing()).toHaveLength(1);
  });
});

describe("a reference with kind and name but no group", () => {
  const vague = (name = "t") => {
    const spec = { template: { spec: { infrastructureRef: { kind: "Metal3MachineTemplate", name } } } };
    return object("MachineSet.cluster.x-k8s.io/v1beta1", "ms", { spec });
  };

  it("means every object that fits", () => {
    const namesake = object("Metal3MachineTemplate.bootstrap.cluster.x-k8s.io/v1", "t");
    const graph = buildGraph([template, namesake, metal3MachineTemplate("other"), vague()]);
    expect(graph.references.map(({ target }) => keyText(target)).sort()).toEqual(
      [keyText(keyOf(template)), keyText(keyOf(namesake))].sort(),
    );
    expect(graph.unreadable).toEqual([]);
  });

  it("of which none stands -> unreadable", () => {
    const graph = buildGraph([template, vague("other")]);
    expect(graph.references).toEqual([]);
    expect(graph.unreadable).toHaveLength(1);
  });

  it("never means an object of another namespace", () => {
    expect(buildGraph([inNamespace(template, "edge"), vague()]).references).toEqual([]);
  });
});
