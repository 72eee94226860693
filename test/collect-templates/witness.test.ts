import { describe, expect, test } from "vitest";
import { byExpectedLife, noteOf, provesNeed, witnessesNotedOn } from "../../functions/collect-templates/witness.ts";
import { NEEDED_BY } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import {
  annotated,
  cluster,
  inNamespace,
  kubeadmConfigTemplate,
  machineDeployment,
  machineSet,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  retired,
  terminating,
} from "../build/objects.ts";

const t = metal3MachineTemplate("t");
const machine = metal3Machine("m", { clonedFrom: t });
const keys = [machineSet("s", { uses: t }), machine, metal3Machine("m2", { clonedFrom: t })].map(keyOf);

test("what is noted -> is read back", () => {
  expect(witnessesNotedOn(annotated(t, { [NEEDED_BY]: noteOf(keys) }))).toEqual(keys);
});

const names = (count: number) =>
  Array.from({ length: count }, (_, index) => keyText(keyOf(metal3Machine(`m${index}`))));

describe("a note that somebody forged", () => {
  test.each<[string, string, number]>([
    ["is no JSON", "{", 0],
    ["is no list", '{"a":1}', 0],
    ["holds other things than names", JSON.stringify([1, null, { kind: "Metal3Machine" }, names(1)]), 0],
    ["names more than three", JSON.stringify(names(5)), 3],
    ["is longer than any of ours", JSON.stringify([...names(1), "x".repeat(5000)]), 0],
    ["names a Secret", JSON.stringify(["/Secret/sylva/s"]), 0],
    ["names a kind that cannot refer to it", JSON.stringify([keyText(keyOf(kubeadmConfigTemplate("k")))]), 0],
    ["names a path", JSON.stringify(["cluster.x-k8s.io/MachineSet/sylva/.."]), 0],
    ["names a path in the namespace", JSON.stringify(["cluster.x-k8s.io/MachineSet/../s"]), 0],
    ["names half a key", JSON.stringify(["cluster.x-k8s.io/MachineSet/s"]), 0],
    ["names a query", JSON.stringify(["cluster.x-k8s.io/MachineSet/sylva/s?watch=1"]), 0],
  ])("%s -> what cannot be asked is passed over", (_, note, read) => {
    expect(witnessesNotedOn(annotated(t, { [NEEDED_BY]: note })).length).toBe(read);
  });
});

const data = metal3DataTemplate("d");

describe("a witness", () => {
  test.each<[string, KubeObject, KubeObject, boolean]>([
    ["a machine made from it", machine, t, true],
    ["a Terminating machine made from it", terminating(machine), t, true],
    ["a machine made from another", metal3Machine("m", { clonedFrom: metal3MachineTemplate("u") }), t, false],
    ["a machine of that name in another namespace", inNamespace(machine, "other"), t, false],
    ["a spec that names it", machineDeployment("md", { uses: t }), t, true],
    ["a spec that names another now", machineDeployment("md", { uses: metal3MachineTemplate("u") }), t, false],
    ["a live template that names it", metal3MachineTemplate("t", { uses: data }), data, true],
    ["a retired template that names it", retired(metal3MachineTemplate("t", { uses: data })), data, false],
    ["a Terminating template that names it", terminating(metal3MachineTemplate("t", { uses: data })), data, false],
    ["its Cluster", cluster(), t, false],
    ["itself", t, t, false],
  ])("%s -> proves need or does not", (_, witness, template, outcome) => {
    expect(provesNeed(witness, keyOf(template))).toBe(outcome);
  });
});

test("several -> owner specs first, then machines that stay, the youngest first, then those that leave", () => {
  const born = (one: KubeObject, creationTimestamp: string): KubeObject => ({
    ...one,
    metadata: { ...one.metadata, creationTimestamp },
  });
  const set = machineSet("s", { uses: t });
  const old = born(metal3Machine("old", { clonedFrom: t }), "2026-01-01T00:00:00Z");
  const young = born(metal3Machine("young", { clonedFrom: t }), "2026-02-01T00:00:00Z");
  const leaving = terminating(born(metal3Machine("leaving", { clonedFrom: t }), "2026-03-01T00:00:00Z"));
  const sorted = [leaving, old, set, young].toSorted(byExpectedLife).map(({ metadata }) => metadata.name);
  expect(sorted).toEqual(["s", "young", "old", "leaving"]);
});
