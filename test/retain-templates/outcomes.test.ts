import { describe, expect, test } from "vitest";
import { decide } from "../../functions/retain-templates/decide.ts";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import { ClusterError } from "../../shared/cluster/cluster.ts";
import {
  annotation,
  DELETE_FOR_MOVE,
  hasHold,
  isRetired,
  RETAIN,
  RETIRED_AT,
  RETIRED_LABEL,
  TOPOLOGY_OWNED,
} from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  held,
  inNamespace,
  kubeadmConfigTemplate,
  labelled,
  machineDeployment,
  machineSet,
  metal3Data,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  namespace,
  noon,
  object,
  ownedBy,
  retired,
  rke2ConfigTemplate,
  terminating,
  VERSIONS,
} from "../build/objects.ts";

const mgmt = cluster();
const t = ownedBy(metal3MachineTemplate("t"), mgmt);
const machine = metal3Machine("m", { clonedFrom: t });

test.each<readonly [situation: string, outcome: string, template: KubeObject]>([
  ["without a hold", "hold not-held", t],
  ["without a hold, retired before a move", "hold not-held", retired(t)],
  ["with another finalizer only", "hold not-held", finalizedBy(t, "metal3")],
  ["held", "leave held", held(t)],
  ["held, its deletion asked for", "record deletion-requested", terminating(held(t))],
  ["held, its deletion asked for and recorded", "leave held", terminating(held(retired(t)))],
  [
    "held, retired without the label",
    "record label-missing",
    held(annotated(t, { [RETIRED_AT]: "2026-01-01T00:00:00Z" })),
  ],
  ["Terminating without a hold", "leave deleted-unheld", terminating(finalizedBy(t, "metal3"))],
  ["opted out", "leave opted-out", annotated(t, { [RETAIN]: "false" })],
  ["owned by the topology controller", "leave off-limits", labelled(t, { [TOPOLOGY_OWNED]: "" })],
  ["deleted by clusterctl for a move", "leave off-limits", annotated(t, { [DELETE_FOR_MOVE]: "" })],
])("a template %s -> %s", (_, outcome, template) => {
  const { verdict, because } = decide(template);
  expect(`${verdict} ${because}`).toBe(outcome);
});

describe("hold", () => {
  const kinds = VERSIONS.flatMap((version) => [
    metal3MachineTemplate("t", { version }),
    metal3DataTemplate("t", { version }),
    kubeadmConfigTemplate("t", { version }),
    rke2ConfigTemplate("t", { version }),
    object(`VSphereMachineTemplate.infrastructure.cluster.x-k8s.io/${version}`, "t"),
    object(`KubeadmControlPlaneTemplate.controlplane.cluster.x-k8s.io/${version}`, "t"),
  ]);
  test.each(kinds.map((one) => [one.kind, one.apiVersion, one] as const))(
    "%s %s appears -> held",
    async (_k, _v, one) => {
      const b = bench([one]);
      const { acts } = await b.send(retain, "add", one);
      expect(hasHold(await b.live(one))).toBe(true);
      expect(acts).toMatchObject([{ noun: "template", done: "held" }]);
      expect((await b.send(retain, "add", await b.live(one))).acts).toEqual([]);
    },
  );

  test("a kind that only sounds like a template -> left alone", async () => {
    const other = object("PodTemplate.v1", "t");
    const b = bench([other]);
    await b.send(retain, "add", other);
    expect(b.changes).toEqual([]);
  });

  test("its finalizers are replaced by --force -> held again, other finalizers kept", async () => {
    const b = bench([finalizedBy(t, "metal3")]);
    await b.send(retain, "update", t);
    expect((await b.live(t)).metadata.finalizers).toEqual(["metal3", "capi-caretaker.io/in-use"]);
  });

  test("an old event about a template that was opted out since -> left alone", async () => {
    const b = bench([annotated(t, { [RETAIN]: "false" })]);
    await b.send(retain, "update", t);
    expect(b.changes).toEqual([]);
  });

  test("templates from before the installation -> the sweep holds them all, in every namespace", async () => {
    const all = [t, inNamespace(t, "other"), kubeadmConfigTemplate("t"), metal3DataTemplate("d")];
    const b = bench(all);
    const { counts } = await b.sweep(retain);
    for (const one of all) expect(hasHold(await b.live(one))).toBe(true);
    expect(counts).toMatchObject({ templates: 4, held: 4 });
  });

  test.each([
    ["forbidden", "the sweep completes and counts it"],
    ["unavailable", "the sweep fails, to be sent again"],
  ] as const)("the list of one kind is %s -> the others are held, and %s", async (failure, _) => {
    const b = bench([t, kubeadmConfigTemplate("c")], {}, (inner) => ({
      ...inner,
      async list(kind, options) {
        if (kind.kind === "Metal3MachineTemplate") throw new ClusterError(failure, failure);
        return inner.list(kind, options);
      },
    }));
    const swept = await b.sweep(retain).catch(() => "failed");
    if (failure === "unavailable") expect(swept).toBe("failed");
    else expect(swept).toMatchObject({ counts: { "unread-kinds": 1, held: 1 } });
    expect(hasHold(await b.live(kubeadmConfigTemplate("c")))).toBe(true);
  });

  test("a dry run -> decides and writes nothing", async () => {
    const { dryRun } = await import("../../shared/cluster/dry-run.ts");
    const b = bench([t], { DRY_RUN: "true" }, dryRun);
    const { acts } = await b.send(retain, "add", t);
    expect(acts).toMatchObject([{ done: "held" }]);
    expect(b.changes).toEqual([]);
  });
});

test("its deletion is asked for -> the time is recorded, so that it outlives a move", async () => {
  const b = bench([mgmt, held(t), machine]);
  await b.cluster.delete(await b.live(t));
  b.pass({ minutes: 5 });
  await b.send(retain, "update", await b.live(t));
  const live = await b.live(t);
  expect(annotation(live, RETIRED_AT)).toBe("2026-09-01T12:00:00Z");
  expect(live.metadata.labels?.[RETIRED_LABEL]).toBe("true");
});

describe("restore", () => {
  const owned = [{ manager: "helm", operation: "Apply", fieldsV1: { "f:spec": {} } }];
  const whole: KubeObject = {
    ...labelled(annotated(t, { "meta.helm.sh/release-name": "cluster" }), { chart: "c" }),
    status: { seen: true },
  };
  const template: KubeObject = { ...whole, metadata: { ...whole.metadata, managedFields: owned } };

  async function deleted(b: Bench, of: KubeObject = template): Promise<KubeObject> {
    await b.cluster.delete(await b.live(of));
    const event = b.changes.findLast(({ type }) => type === "delete");
    if (event === undefined) throw new Error("it is not deleted");
    return event.object;
  }

  test("deleted without a hold while needed -> back as it was, held and retired", async () => {
    const b = bench([mgmt, template, machine]);
    const gone = await deleted(b);
    const { acts } = await b.send(retain, "delete", gone);
    const live = await b.live(t);
    expect(acts).toMatchObject([{ done: "restored", because: "needed" }]);
    expect(live.spec).toEqual(t.spec);
    expect(live.metadata.labels).toEqual({ chart: "c", [RETIRED_LABEL]: "true" });
    expect(annotation(live, "meta.helm.sh/release-name")).toBe("cluster");
    expect([hasHold(live), isRetired(live)]).toEqual([true, true]);
    expect(live.metadata.uid).not.toBe(gone.metadata.uid);
    expect(live.metadata.ownerReferences).toEqual(t.metadata.ownerReferences);
    expect(live.metadata.managedFields).toEqual(owned);
    expect(live.status).toBeUndefined();
  });

  test.each<readonly [situation: string, others: readonly KubeObject[]]>([
    ["a Terminating machine needs it", [mgmt, terminating(finalizedBy(machine, "metal3"))]],
    ["a MachineDeployment names it", [mgmt, machineDeployment("md", { uses: t })]],
    ["no Cluster is found", [machineSet("s", { uses: t, clusterName: "" })]],
  ])("%s -> restored", async (_, others) => {
    const one = others.includes(mgmt) ? template : metal3MachineTemplate("t");
    const b = bench([...others, one]);
    await b.send(retain, "delete", await deleted(b, one));
    expect(await b.has(t)).toBe(true);
  });

  test("needed over a template that is itself needed -> restored", async () => {
    const data = metal3DataTemplate("d");
    const b = bench([
      data,
      held(terminating(metal3MachineTemplate("t", { uses: data }))),
      metal3Machine("m", { clonedFrom: t }),
    ]);
    await b.send(retain, "delete", await deleted(b, data));
    expect(await b.has(data)).toBe(true);
  });

  test.each<readonly [situation: string, others: readonly KubeObject[], one: KubeObject]>([
    ["nothing needs it", [mgmt], template],
    ["only a namesake in another namespace is needed", [mgmt, inNamespace(machine, "other")], template],
    ["only a namesake of another kind is needed", [mgmt, metal3Data("d", { uses: metal3DataTemplate("t") })], template],
    ["its Cluster is Terminating", [terminating(finalizedBy(mgmt, "x/y")), machine], template],
    ["its Cluster is gone", [machine], template],
    ["its namespace is Terminating", [mgmt, machine, terminating(finalizedBy(namespace(), "x/y"))], template],
    ["clusterctl moved it", [mgmt, machine], annotated(template, { [DELETE_FOR_MOVE]: "" })],
    ["the topology controller rotated it", [mgmt, machine], labelled(template, { [TOPOLOGY_OWNED]: "" })],
    ["a person opted it out", [mgmt, machine], annotated(template, { [RETAIN]: "false" })],
  ])("%s -> it stays gone", async (_, others, one) => {
    const b = bench([...others, one]);
    await b.send(retain, "delete", await deleted(b, one));
    expect(await b.has(t)).toBe(false);
  });

  test("a forged event about a template that never was -> nothing", async () => {
    const b = bench([mgmt, machine]);
    await b.send(retain, "delete", { ...template, spec: { evil: true } });
    expect(await b.has(t)).toBe(false);
  });

  test("a forged body -> the API server's own memory decides", async () => {
    const b = bench([mgmt, template, machine]);
    const gone = await deleted(b);
    await b.send(retain, "delete", { ...gone, spec: { evil: true } });
    expect((await b.live(t)).spec).toEqual(t.spec);
  });

  test("something stands under the name already -> it stays", async () => {
    const b = bench([mgmt, template, machine]);
    const gone = await deleted(b);
    await b.cluster.create({ ...t, metadata: { name: "t", namespace: "sylva" }, spec: { newer: true } });
    await b.send(retain, "delete", gone);
    expect((await b.live(t)).spec).toEqual({ newer: true });
  });

  test("its owner was made anew -> no reference to the dead one", async () => {
    const b = bench([{ ...mgmt, metadata: { ...mgmt.metadata, uid: "another" } }, template, machine]);
    await b.send(retain, "delete", await deleted(b));
    expect((await b.live(t)).metadata.ownerReferences).toBeUndefined();
  });

  test("the API server forgot it -> reported lost on the referrer, not created", async () => {
    const b = bench([mgmt, template, machine], {}, (inner) => ({
      ...inner,
      deleted: async () => Promise.reject(new ClusterError("expired", "too old")),
    }));
    const { acts } = await b.send(retain, "delete", await deleted(b));
    expect(await b.has(t)).toBe(false);
    expect(acts).toMatchObject([{ done: "lost" }]);
    expect(b.cluster.events()).toMatchObject([{ reason: "TemplateLost", regarding: { metadata: { name: "m" } } }]);
  });

  test("what may need it cannot be read -> the event fails, to be sent again", async () => {
    let isBroken = true;
    const b = bench([mgmt, template, machine], {}, (inner) => ({
      ...inner,
      async list(kind, options) {
        if (isBroken && kind.kind === "Metal3Machine") throw new ClusterError("unavailable", "timeout");
        return inner.list(kind, options);
      },
    }));
    const gone = await deleted(b);
    await expect(b.send(retain, "delete", gone)).rejects.toThrow("timeout");
    isBroken = false;
    await b.send(retain, "delete", gone);
    expect(await b.has(t)).toBe(true);
  });

  test("the delete event comes twice, and late -> one object", async () => {
    const b = bench([mgmt, template, machine]);
    const gone = await deleted(b);
    await b.send(retain, "delete", gone);
    const { metadata } = await b.live(t);
    b.pass({ hours: 1 });
    await b.send(retain, "delete", gone);
    expect((await b.live(t)).metadata).toEqual(metadata);
  });

  test("retired long before it got away -> the first time stays", async () => {
    const earlier = retired(template, noon(-120));
    const b = bench([mgmt, earlier, machine]);
    await b.send(retain, "delete", await deleted(b, earlier));
    expect(annotation(await b.live(t), RETIRED_AT)).toBe("2026-09-01T10:00:00Z");
  });
});
