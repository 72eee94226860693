import { expect, it } from "vitest";
import { factsFrom } from "../../shared/look/facts.ts";
import { isRetired } from "../../shared/marks/marks.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { generate } from "./cluster/generate.ts";
import { namespace } from "./cluster/identity.ts";
import { machineWithParts, oldMachinesOf } from "./cluster/machines.ts";

const objects: readonly KubeObject[] = Array.from(generate(1000), (object) => KubeObject.parse(object));
const kinds = Object.groupBy(objects, ({ kind }) => kind);
const facts = factsFrom(objects, [{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }], []);
const templates = objects.filter((object) => isTemplateKind(keyOf(object)));

it("1,000 machines -> as many of each of their parts, 50 Clusters, 200 templates", () => {
  for (const kind of ["Machine", "Metal3Machine", "KubeadmConfig"]) expect(kinds[kind]).toHaveLength(1000);
  expect(kinds.Cluster).toHaveLength(50);
  expect(templates).toHaveLength(200);
});

it("the same number twice -> the same objects, none twice, each with a uid of its own", () => {
  expect([...generate(1000)]).toEqual(objects);
  expect(new Set(objects.map((object) => keyText(keyOf(object))))).toHaveLength(objects.length);
  expect(new Set(objects.map(({ metadata }) => metadata.uid))).toHaveLength(objects.length);
});

it("what refers -> finds what it names", () => {
  expect(facts.graph.missing()).toEqual([]);
});

it("50 templates are retired -> all are needed, and none is wanted", () => {
  const retired = templates.filter(isRetired).map(keyOf);
  expect(retired).toHaveLength(50);
  expect(retired.filter((key) => !facts.needed.has(key))).toEqual([]);
  expect(retired.filter((key) => facts.wantedBy(key).length > 0)).toEqual([]);
});

it("machines of a retired template, beyond those there are -> none of them is there", () => {
  const there = new Set((kinds.KubeadmConfig ?? []).map(({ metadata }) => metadata.name));
  const gone = oldMachinesOf(7, 1000, 20).map((index) => machineWithParts(index)[2]);
  expect(gone.map(({ metadata }) => metadata.annotations?.["cluster.x-k8s.io/cloned-from-name"])).toEqual(
    Array.from({ length: 20 }, () => "c-07-old"),
  );
  expect(gone.filter(({ metadata }) => there.has(metadata.name))).toEqual([]);
});
