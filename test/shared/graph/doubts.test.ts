import { describe, expect, it } from "vitest";
import { doubtsIn, type UnreadKind } from "../../../shared/graph/doubts.ts";
import { buildGraph } from "../../../shared/graph/graph.ts";
import { neededIn } from "../../../shared/graph/needed.ts";
import { ANY_KIND } from "../../../shared/graph/references.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import {
  annotated,
  inNamespace,
  kubeadmConfigTemplate,
  machineSet,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  object,
  retired,
  terminating,
} from "../../build/objects.ts";

const INFRA = "infrastructure.cluster.x-k8s.io";
const unread = (group: string, kind: string): UnreadKind => ({ group, kind, reason: "forbidden" });

function doubtAbout(one: KubeObject, others: readonly KubeObject[], kinds: readonly UnreadKind[] = []) {
  const graph = buildGraph([one, ...others]);
  return doubtsIn(graph, neededIn(graph), kinds)(keyOf(one));
}

describe("a kind that could not be read", () => {
  const m3 = terminating(metal3MachineTemplate("t"));
  const data = terminating(metal3DataTemplate("d"));
  const boot = terminating(kubeadmConfigTemplate("b"));
  const foo = terminating(object(`FooMachineTemplate.${INFRA}/v1`, "f"));

  it.each([
    ["Metal3Machine", unread(INFRA, "Metal3Machine"), { m3: true, data: true, boot: false, foo: false }],
    ["FooMachine", unread(INFRA, "FooMachine"), { m3: false, data: false, boot: false, foo: true }],
    ["Metal3Data", unread(INFRA, "Metal3Data"), { m3: false, data: true, boot: false, foo: false }],
    [
      "Metal3MachineTemplate",
      unread(INFRA, "Metal3MachineTemplate"),
      { m3: false, data: true, boot: false, foo: false },
    ],
    [
      "KubeadmConfig",
      unread("bootstrap.cluster.x-k8s.io", "KubeadmConfig"),
      { m3: false, data: false, boot: true, foo: false },
    ],
    ["MachineSet", unread("cluster.x-k8s.io", "MachineSet"), { m3: true, data: true, boot: true, foo: true }],
    [
      "FooControlPlane",
      unread("controlplane.cluster.x-k8s.io", "FooControlPlane"),
      { m3: true, data: true, boot: true, foo: true },
    ],
    ["a hidden infrastructure kind", unread(INFRA, ANY_KIND), { m3: true, data: true, boot: true, foo: true }],
    ["Namespace", unread("", "Namespace"), { m3: false, data: false, boot: false, foo: false }],
  ])("%s -> only what it can refer to stays", (_, kind, expected) => {
    const inDoubt = (one: KubeObject) =>
      doubtAbout(
        one,
        [m3, data, boot, foo].filter((o) => o !== one),
        [kind],
      ) !== undefined;
    expect({ m3: inDoubt(m3), data: inDoubt(data), boot: inDoubt(boot), foo: inDoubt(foo) }).toEqual(expected);
  });

  it("says which kind and why", () => {
    expect(doubtAbout(m3, [], [unread(INFRA, "Metal3Machine")])).toEqual({
      because: "unreadable-kind",
      by: [],
      reason: `Metal3Machine.${INFRA}: forbidden`,
    });
  });

  it("raises no doubt about what is needed anyway, nor about what is not retired", () => {
    const clone = metal3Machine("m", { clonedFrom: m3 });
    expect(doubtAbout(m3, [clone], [unread("cluster.x-k8s.io", "MachineSet")])).toBeUndefined();
    expect(doubtAbout(metal3MachineTemplate("live"), [], [unread("cluster.x-k8s.io", "MachineSet")])).toBeUndefined();
  });
});

describe("a doubt is handed on", () => {
  const data = terminating(metal3DataTemplate("d"));
  const m3 = retired(metal3MachineTemplate("t", { uses: data }));
  const foo = (name: string, ref?: unknown) => object(`FooMachineTemplate.${INFRA}/v1`, name, { spec: { ref } });

  it("a template that a doubted one names stays, and says through which", () => {
    // MachineHealthChecks of another provider cannot name data templates by any row; the machine template can.
    const kinds = [unread(INFRA, "Metal3Machine")];
    const bare = buildGraph([m3, data]);
    expect(doubtsIn(bare, neededIn(bare), kinds)(keyOf(data))).toMatchObject({ because: "unreadable-kind" });
    const vague = { "cluster.x-k8s.io/cloned-from-name": "t" };
    expect(doubtAbout(data, [m3, annotated(object(`FooMachine.${INFRA}/v1`, "m"), vague)])).toEqual({
      because: "unreadable-reference",
      by: [keyOf(m3)],
      path: "metadata.annotations[cluster.x-k8s.io/cloned-from-name]",
      reason: "has no kind and group",
    });
  });

  it("an unreadable reference of a doubted template keeps what it might mean", () => {
    const vague = retired(
      object(`LinkTemplate.controlplane.cluster.x-k8s.io/v1`, "link", {
        spec: { a: { apiVersion: `${INFRA}/v1`, kind: "FooMachineTemplate", name: 5 } },
      }),
    );
    expect(doubtAbout(retired(foo("f")), [vague], [])).toBeUndefined();
    expect(doubtAbout(retired(foo("f")), [vague], [unread("controlplane.cluster.x-k8s.io", "Foo")])).toBeDefined();
  });
});

describe("an unreadable reference", () => {
  const t = terminating(metal3MachineTemplate("t"));
  const ref = (value: unknown) =>
    object("MachineSet.cluster.x-k8s.io/v1beta1", "ms", { spec: { template: { spec: { infrastructureRef: value } } } });
  const apiVersion = `${INFRA}/v1beta1`;
  const kind = "Metal3MachineTemplate";

  it.each([
    ["the name alone", ref({ name: "t" }), true],
    ["another name alone", ref({ name: "u" }), false],
    ["the kind alone", ref({ apiVersion, kind }), true],
    ["another kind alone", ref({ apiVersion, kind: "FooMachineTemplate" }), false],
    ["the kind alone in another group", ref({ apiVersion: "bootstrap.cluster.x-k8s.io/v1", kind }), false],
    ["nothing that can be read", ref(7), true],
    ["the name alone, in another namespace", inNamespace(ref({ name: "t" }), "edge"), false],
    ["the cloned-from name alone", annotated(metal3Machine("m"), { "cluster.x-k8s.io/cloned-from-name": "t" }), true],
    [
      "the cloned-from groupkind alone",
      annotated(metal3Machine("m"), { "cluster.x-k8s.io/cloned-from-groupkind": `${kind}.${INFRA}` }),
      true,
    ],
    ["the name alone, of a Terminating referrer", terminating(ref({ name: "t" })), true],
  ])("with %s -> in doubt: $2", (_, referrer, expected) => {
    const doubt = doubtAbout(t, [referrer]);
    expect(doubt?.because).toBe(expected ? "unreadable-reference" : undefined);
    if (expected) expect(doubt?.by).toEqual([keyOf(referrer)]);
  });

  it("of a retired template that nothing needs keeps nothing", () => {
    const data = terminating(metal3DataTemplate("d"));
    const spec = { template: { spec: { dataTemplate: { name: 5 } } } };
    const vague = object(`${kind}.${apiVersion}`, "t", { spec });
    expect(doubtAbout(data, [vague])).toBeDefined();
    expect(doubtAbout(data, [retired(vague)])).toBeUndefined();
    expect(doubtAbout(data, [retired(vague), metal3Machine("m", { clonedFrom: vague })])).toBeDefined();
  });

  it("does not hide that another referrer needs it", () => {
    expect(doubtAbout(t, [ref({ name: "t" }), machineSet("other", { uses: t })])).toBeUndefined();
  });
});

describe("doubts end", () => {
  it("in a ring of retired templates that a doubt reaches", () => {
    const link = (name: string, to: string) =>
      retired(
        object("LinkTemplate.controlplane.cluster.x-k8s.io/v1", name, {
          spec: { next: { apiVersion: "controlplane.cluster.x-k8s.io/v1", kind: "LinkTemplate", name: to } },
        }),
      );
    const [a, b] = [link("a", "b"), link("b", "a")];
    const vague = annotated(metal3Machine("m"), { "cluster.x-k8s.io/cloned-from-name": "a" });
    expect(doubtAbout(b, [a, vague])).toMatchObject({ by: [keyOf(a)] });
    expect(doubtAbout(a, [b])).toBeUndefined();
  });
});
