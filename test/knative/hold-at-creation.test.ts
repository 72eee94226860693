import { expect, test } from "vitest";
import { whatPutsBack } from "../../cli/release/putting-back.ts";
import { decide } from "../../functions/retain-templates/decide.ts";
import { snapshotCluster } from "../../shared/cluster/snapshot/cluster.ts";
import { DELETE_FOR_MOVE, HOLD, RETAIN, TOPOLOGY_OWNED } from "../../shared/marks/marks.ts";
import { BOOTSTRAP, CONTROL_PLANE, INFRASTRUCTURE, isTemplateKind } from "../../shared/objects/kinds.ts";
import { KubeObject } from "../../shared/objects/object.ts";
import { valuesAt } from "../../shared/objects/path.ts";
import { annotated, labelled, metal3MachineTemplate } from "../build/objects.ts";
import { manifestsOf } from "./manifests.ts";

const [policy, binding] = manifestsOf("options/hold-at-creation");
const said = (path: string) => valuesAt(policy, path).map(({ value }) => value);
const t = metal3MachineTemplate("t");

test("the policy -> is bound, and where the API server cannot apply it, nothing is refused", () => {
  expect(valuesAt(binding, "spec.policyName")[0]?.value).toBe(policy?.metadata.name);
  expect(said("spec.failurePolicy")).toEqual(["Ignore"]);
});

test("the groups it takes -> those of templates", () => {
  const groups = said("spec.matchConstraints.resourceRules[].apiGroups[]").map(String);
  expect(groups.toSorted()).toEqual([BOOTSTRAP, CONTROL_PLANE, INFRASTRUCTURE].toSorted());
  expect(groups.every((group) => isTemplateKind({ group, kind: "FooTemplate" }))).toBe(true);
});

test("what it puts on -> the hold", () => {
  const [expression] = said("spec.mutations[].jsonPatch.expression");
  expect(String(expression).match(/capi-caretaker\.io\/[-\w]+/g)).toEqual([HOLD, HOLD]);
});

test.each([
  ["opted out", RETAIN, annotated(t, { [RETAIN]: "false" })],
  ["of a topology", TOPOLOGY_OWNED, labelled(t, { [TOPOLOGY_OWNED]: "" })],
  ["leaving for a move", DELETE_FOR_MOVE, annotated(t, { [DELETE_FOR_MOVE]: "" })],
])("a template %s -> left alone by retain-templates, and by the policy for the same mark", (_, mark, template) => {
  expect(decide(template).verdict).toBe("leave");
  const conditions = said("spec.matchConditions[].expression").map(String);
  expect(conditions.filter((one) => one.includes(`'${mark}'`))).toHaveLength(1);
});

test("the policy stands -> release sees it", async () => {
  const standing = await whatPutsBack(snapshotCluster([KubeObject.parse(policy)]), "capi-caretaker");
  expect(standing).toEqual([`MutatingAdmissionPolicy ${policy?.metadata.name}`]);
});
