import { describe, expect, test } from "vitest";
import { handle as collect } from "../../functions/collect-templates/index.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { annotation, hasHold, isRetired, RETIRED_AT, RETIRED_BY, RETIRED_LABEL } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  HOME,
  held,
  labelled,
  machineDeployment,
  metal3Machine,
  metal3MachineTemplate,
  noon,
  object,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";

const mgmt = cluster();
const byFlux = { "kustomize.toolkit.fluxcd.io/name": "workers", "kustomize.toolkit.fluxcd.io/namespace": HOME };
const t = held(labelled(ownedBy(metal3MachineTemplate("t"), mgmt), byFlux));
const u = held(labelled(ownedBy(metal3MachineTemplate("u"), mgmt), byFlux));
const machine = metal3Machine("m", { clonedFrom: t });
const flux = { RETIRE_ORPHANS: "flux" };

/** The Kustomization that deploys templates, settled. */
function owner(...listed: readonly KubeObject[]): KubeObject {
  const ids = listed.map((one) => {
    const { namespace, name, group, kind } = keyOf(one);
    return { id: [namespace, name, group, kind].join("_"), v: "v1beta1" };
  });
  const conditions = [{ type: "Ready", status: "True", observedGeneration: 1 }];
  const status = { observedGeneration: 1, conditions, inventory: { entries: ids } };
  return object("Kustomization.kustomize.toolkit.fluxcd.io/v1", "workers", { metadata: { generation: 1 }, status });
}

const failed = (one: KubeObject): KubeObject => ({
  ...one,
  status: { ...(one.status as object), conditions: [{ type: "Ready", status: "False" }] },
});
const marksOf = ({ metadata }: KubeObject) => [
  metadata.annotations?.[RETIRED_AT] !== undefined,
  metadata.annotations?.[RETIRED_BY],
  metadata.labels?.[RETIRED_LABEL],
];

describe("retired by record", () => {
  test("no longer listed -> retired, kept through the grace period, then gone; the listed one stays", async () => {
    const b = bench([mgmt, owner(u), t, u], flux);
    const { acts } = await b.sweep(collect);
    expect(acts).toMatchObject([{ done: "retired", because: "not-listed" }]);
    expect(marksOf(await b.live(t))).toEqual([true, "flux", "true"]);
    await b.sweep(collect);
    b.pass({ minutes: 9 });
    await b.sweep(collect);
    expect(await b.has(t)).toBe(true);
    b.pass({ minutes: 1 });
    await b.sweep(collect);
    expect([await b.has(t), await b.has(u), isRetired(await b.live(u))]).toEqual([false, true, false]);
  });

  test("needed -> retired, and kept until its last machine is gone", async () => {
    const b = bench([mgmt, owner(), t, machine], flux);
    await b.sweep(collect);
    b.pass({ hours: 5 });
    await b.sweep(collect);
    expect(await b.has(t)).toBe(true);
    await b.cluster.delete(await b.live(machine));
    await b.send(collect, "delete", machine);
    b.pass({ minutes: 10 });
    await b.sweep(collect);
    expect(await b.has(t)).toBe(false);
  });

  test("wanted by a MachineDeployment of someone else -> never retired, however many sweeps", async () => {
    const b = bench([mgmt, owner(), t, machineDeployment("md", { uses: t })], flux);
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      await b.sweep(collect);
      b.pass({ hours: 1 });
    }
    expect(b.changes).toEqual([]);
  });

  test.each([
    ["RETIRE_ORPHANS is not set", {}, owner()],
    ["RETIRE_ORPHANS names another tool", { RETIRE_ORPHANS: "helm,argocd" }, owner()],
    ["its owner is not Ready", flux, failed(owner())],
    ["its owner is gone", flux, undefined],
  ])("%s -> nothing is written", async (_, environment, kustomization) => {
    const b = bench([mgmt, t, ...(kustomization === undefined ? [] : [kustomization])], environment);
    await b.sweep(collect);
    b.pass({ hours: 1 });
    await b.sweep(collect);
    expect(b.changes).toEqual([]);
  });

  test.each([
    ["an ordinary event", t],
    ["an event about a Terminating one, which no record can change", terminating(t, noon(-30))],
  ])("%s -> the record is not read", async (_, template) => {
    const read: string[] = [];
    const counting = (inner: Cluster): Cluster => ({
      ...inner,
      get(key) {
        read.push(key.kind);
        return inner.get(key);
      },
    });
    const b = bench([mgmt, owner(), template], flux, counting);
    await b.send(collect, "delete", machine);
    expect(read).toContain("Metal3MachineTemplate");
    expect(read).not.toContain("Kustomization");
  });
});

describe("listed again", () => {
  const orphan = annotated(retired(t, noon(-30)), { [RETIRED_AT]: noon(-30).toString(), [RETIRED_BY]: "flux" });

  test.each([
    ["retired by record", orphan],
    ["its deletion was asked for, and it was restored since", retired(t, noon(-30))],
  ])("%s -> unretired, and it stays", async (_, template) => {
    const b = bench([mgmt, owner(t), template], flux);
    const { acts } = await b.sweep(collect);
    expect(acts).toMatchObject([{ done: "unretired", because: "listed" }]);
    b.pass({ hours: 1 });
    await b.sweep(collect);
    const live = await b.live(t);
    expect([marksOf(live), hasHold(live)]).toEqual([[false, undefined, undefined], true]);
  });

  test("between the decision and the deletion -> it is not deleted", async () => {
    let isRelisted = false;
    // The record is read once for the decision and once more before the deletion.
    const relisting = (inner: Cluster): Cluster => ({
      ...inner,
      async get(key) {
        if (key.kind !== "Kustomization") return inner.get(key);
        const read = isRelisted ? owner(t) : owner();
        isRelisted = true;
        return read;
      },
    });
    const due = annotated(orphan, { "capi-caretaker.io/unneeded-since": noon(-20).toString() });
    const b = bench([mgmt, owner(), due], flux, relisting);
    await b.sweep(collect);
    expect(await b.has(t)).toBe(true);
    await b.sweep(collect);
    expect(annotation(await b.live(t), RETIRED_AT)).toBeUndefined();
  });

  test.each([
    ["its owner is not Ready", flux, failed(owner())],
    ["its owner is gone", flux, undefined],
    ["RETIRE_ORPHANS is no longer set", {}, owner()],
  ])("retired by record, and %s -> it waits for ever", async (_, environment, kustomization) => {
    const b = bench([mgmt, orphan, ...(kustomization === undefined ? [] : [kustomization])], environment);
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      await b.sweep(collect);
      b.pass({ hours: 1 });
    }
    expect(await b.has(t)).toBe(true);
  });
});
