import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildGraph } from "../../../shared/graph/graph.ts";
import { neededIn } from "../../../shared/graph/needed.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import {
  clusterClass,
  held,
  inNamespace,
  kubeadmConfig,
  kubeadmConfigTemplate,
  kubeadmControlPlane,
  machineDeployment,
  machineHealthCheck,
  machinePool,
  machineSet,
  metal3Data,
  metal3DataClaim,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  ownedBy,
  retired,
  rke2Config,
  rke2ConfigTemplate,
  rke2ControlPlane,
  terminating,
  VERSIONS,
} from "../../build/objects.ts";
import { linkTemplate } from "../../build/templates-in-a-ring.ts";

const isNeeded = (one: KubeObject, ...others: readonly KubeObject[]) =>
  neededIn(buildGraph([one, ...others])).has(keyOf(one));

const template = terminating(held(metal3MachineTemplate("t")));

describe.each(VERSIONS)("a Terminating template is needed, %s", (version) => {
  const infra = terminating(held(metal3MachineTemplate("t", { version })));
  const boot = terminating(held(kubeadmConfigTemplate("b", { version })));
  const rke2 = terminating(held(rke2ConfigTemplate("b", { version })));
  const data = terminating(held(metal3DataTemplate("d", { version })));

  const rows: readonly [string, KubeObject, KubeObject][] = [
    ["MachineDeployment", infra, machineDeployment("r", { version, uses: infra })],
    ["MachineDeployment, by its bootstrap", boot, machineDeployment("r", { version, uses: boot })],
    ["MachineSet", infra, machineSet("r", { version, uses: infra })],
    ["MachinePool", boot, machinePool("r", { version, uses: boot })],
    ["KubeadmControlPlane", infra, kubeadmControlPlane("r", { version, uses: infra })],
    ["RKE2ControlPlane", infra, rke2ControlPlane("r", { version, uses: infra })],
    ["ClusterClass", boot, clusterClass("r", { version, uses: boot })],
    ["MachineHealthCheck", infra, machineHealthCheck("r", { version, uses: infra })],
    ["Metal3Machine", infra, metal3Machine("r", { version, clonedFrom: infra })],
    ["KubeadmConfig", boot, kubeadmConfig("r", { version, clonedFrom: boot })],
    ["RKE2Config", rke2, rke2Config("r", { version, clonedFrom: rke2 })],
    ["Metal3Machine, by its data", data, metal3Machine("r", { version, uses: data })],
    ["Metal3Data", data, metal3Data("r", { version, uses: data })],
    ["Metal3DataClaim", data, metal3DataClaim("r", { version, uses: data })],
    ["Metal3MachineTemplate that stays", data, metal3MachineTemplate("r", { version, uses: data })],
  ];

  it.each(rows)("by a %s, and by one that is Terminating unless it is a template", (name, target, referrer) => {
    expect(isNeeded(target, referrer)).toBe(true);
    expect(isNeeded(target, terminating(referrer))).toBe(!name.includes("Template"));
  });

  it.each(rows)("not by a %s of the same names in another namespace", (_, target, referrer) => {
    expect(isNeeded(target, inNamespace(referrer, "edge"))).toBe(false);
    expect(isNeeded(inNamespace(target, "edge"), inNamespace(referrer, "edge"))).toBe(true);
  });
});

describe("a template is not needed", () => {
  const boot = kubeadmConfigTemplate("t");
  it.each([
    ["by nobody", []],
    ["by what it owns", [ownedBy(metal3Machine("m"), template)]],
    ["by a clone of another kind's template of the same name", [kubeadmConfig("c", { clonedFrom: boot })]],
    ["by a MachineSet that names another kind's template of the same name", [machineSet("ms", { uses: boot })]],
    ["by a clone of a template of another name", [metal3Machine("m", { clonedFrom: metal3MachineTemplate("t2") })]],
  ])("%s", (_, others) => {
    expect(isNeeded(template, ...others)).toBe(false);
  });
});

describe("chains", () => {
  const data = terminating(held(metal3DataTemplate("d")));
  const middle = metal3MachineTemplate("t", { uses: data });

  it.each([
    ["an unretired template in the middle", [middle], true],
    ["a retired one that a machine needs", [retired(middle), metal3Machine("m", { clonedFrom: middle })], true],
    [
      "a Terminating one that a Terminating machine needs",
      [terminating(middle), terminating(metal3Machine("m", { clonedFrom: middle }))],
      true,
    ],
    ["a retired one that nobody needs", [retired(middle)], false],
    ["a Terminating one that nobody needs", [terminating(middle)], false],
    ["a middle that is gone, still named by a machine", [metal3Machine("m", { clonedFrom: middle })], false],
  ])("%s -> its data template needed: %s", (_, others, expected) => {
    expect(isNeeded(data, ...others)).toBe(expected);
  });

  const chain = (length: number) =>
    Array.from({ length }, (_, n) => retired(linkTemplate(`link-${n}`, n + 1 < length ? [`link-${n + 1}`] : [])));
  const start = (name: string) => machineSet("ms", { uses: linkTemplate(name) });

  it("of many retired templates hang on the one referrer at their start, however long", () => {
    const links = chain(2000);
    const needed = neededIn(buildGraph([...links, start("link-0")]));
    expect(links.every((link) => needed.has(keyOf(link)))).toBe(true);
    const alone = neededIn(buildGraph(links));
    expect(links.some((link) => alone.has(keyOf(link)))).toBe(false);
  });

  it("hang from the link that is named on, not before it", () => {
    const links = chain(5);
    const needed = neededIn(buildGraph([...links, start("link-2")]));
    expect(links.map((link) => needed.has(keyOf(link)))).toEqual([false, false, true, true, true]);
  });
});

describe("rings of retired templates hold nothing by themselves", () => {
  const ring = [
    retired(linkTemplate("a", ["b"])),
    terminating(linkTemplate("b", ["c"])),
    retired(linkTemplate("c", ["a"])),
  ];

  it.each([
    ["a ring alone", ring, [false, false, false]],
    ["a ring that one machine set names", [...ring, machineSet("ms", { uses: linkTemplate("b") })], [true, true, true]],
    ["a ring that one unretired template names", [...ring, linkTemplate("d", ["c"])], [true, true, true]],
    [
      "a ring that one unneeded retired template names",
      [...ring, retired(linkTemplate("d", ["c"]))],
      [false, false, false],
    ],
  ])("%s", (_, objects, expected) => {
    const needed = neededIn(buildGraph(objects));
    expect(ring.map((one) => needed.has(keyOf(one)))).toEqual(expected);
  });

  it("a retired template that names itself is not needed", () => {
    expect(isNeeded(retired(linkTemplate("self", ["self"])))).toBe(false);
  });

  it("an unretired template that names itself is", () => {
    expect(isNeeded(linkTemplate("self", ["self"]))).toBe(true);
  });
});

describe("by", () => {
  it("names each staying referrer once, whatever number of paths it has", () => {
    const twice = metal3Machine("m", { clonedFrom: template });
    const again = machineSet("ms", { uses: template });
    const needed = neededIn(buildGraph([template, twice, again]));
    expect(needed.by(keyOf(template))).toEqual([keyOf(twice), keyOf(again)]);
    expect(needed.stays(keyOf(template))).toBe(true);
  });

  it("leaves out retired templates that go themselves", () => {
    const data = retired(metal3DataTemplate("d"));
    const leaving = retired(metal3MachineTemplate("old", { uses: data }));
    const staying = metal3MachineTemplate("new", { uses: data });
    expect(neededIn(buildGraph([data, leaving, staying])).by(keyOf(data))).toEqual([keyOf(staying)]);
    expect(neededIn(buildGraph([data, leaving])).by(keyOf(data))).toEqual([]);
  });

  it("tells of targets that do not stand, so that one that got away can be restored", () => {
    const clone = metal3Machine("m", { clonedFrom: template });
    const needed = neededIn(buildGraph([clone]));
    expect(needed.has(keyOf(template))).toBe(true);
    expect(needed.by(keyOf(template))).toEqual([keyOf(clone)]);
  });
});

it("any graph: needed is what can be reached from something that stays, no more and no less", () => {
  const names = ["a", "b", "c", "d", "e"];
  const node = fc.record({ isRetired: fc.boolean(), next: fc.subarray(names) });
  fc.assert(
    fc.property(fc.array(node, { minLength: 5, maxLength: 5 }), fc.subarray(names), (nodes, named) => {
      const templates = nodes.map(({ isRetired, next }, n) => {
        const one = linkTemplate(names[n] ?? "", next);
        return isRetired ? retired(one) : one;
      });
      const roots = named.map((name) => machineSet(`ms-${name}`, { uses: linkTemplate(name) }));
      const needed = neededIn(buildGraph([...templates, ...roots]));

      const reached = new Set<string>(named);
      const walked = new Set<string>();
      const walk = (n: number): void => {
        if (walked.has(names[n] ?? "")) return;
        walked.add(names[n] ?? "");
        for (const to of nodes[n]?.next ?? []) {
          reached.add(to);
          walk(names.indexOf(to));
        }
      };
      nodes.forEach(({ isRetired }, n) => {
        if (!isRetired || named.includes(names[n] ?? "")) walk(n);
      });
      expect(templates.map((one) => needed.has(keyOf(one)))).toEqual(names.map((name) => reached.has(name)));
    }),
    { numRuns: 300 },
  );
});
