import { describe, expect, test } from "vitest";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import { DELETE_FOR_MOVE, RETAIN, TOPOLOGY_OWNED } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  held,
  kubeadmConfigTemplate,
  labelled,
  metal3Machine,
  metal3MachineTemplate,
  object,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";
import { notingRequests } from "../build/requests.ts";

const mgmt = cluster();
const t = ownedBy(metal3MachineTemplate("t"), mgmt);
const machine = metal3Machine("m", { clonedFrom: t });

function counted(objects: readonly KubeObject[]) {
  const made: string[] = [];
  return { made, b: bench(objects, {}, (inner) => notingRequests(inner, made)) };
}

describe("an event about a template that stands", () => {
  test.each<readonly [situation: string, template: KubeObject, requests: readonly string[]]>([
    ["not held", t, ["get Metal3MachineTemplate", "patch Metal3MachineTemplate", "event TemplateHeld"]],
    ["held", held(t), []],
    ["held and retired", terminating(held(retired(t))), []],
    ["retired a moment ago", terminating(held(t)), ["get Metal3MachineTemplate", "patch Metal3MachineTemplate"]],
    ["opted out", annotated(t, { [RETAIN]: "false" }), []],
    ["the topology controller's", labelled(t, { [TOPOLOGY_OWNED]: "" }), []],
    ["deleted by clusterctl", annotated(t, { [DELETE_FOR_MOVE]: "" }), []],
    ["no template of Cluster API", object("PodTemplate.v1", "p"), []],
  ])("%s -> requests", async (_, template, requests) => {
    const { b, made } = counted([mgmt, template, machine]);
    await b.send(retain, "update", template);
    expect(made).toEqual(requests);
  });
});

describe("a delete event", () => {
  const lookedUp = ["get Metal3MachineTemplate", "get ConfigMap"];

  test.each<
    readonly [situation: string, objects: readonly KubeObject[], gone: KubeObject, requests: readonly string[]]
  >([
    ["another stands under its name", [mgmt, held(t)], t, lookedUp],
    ["a person opted it out", [mgmt], annotated(t, { [RETAIN]: "false" }), []],
    ["the topology controller's", [mgmt], labelled(t, { [TOPOLOGY_OWNED]: "" }), []],
    ["clusterctl moved it", [mgmt], annotated(t, { [DELETE_FOR_MOVE]: "" }), []],
  ])("%s -> requests", async (_, objects, gone, requests) => {
    const { b, made } = counted(objects);
    await b.send(retain, "delete", gone);
    expect(made).toEqual(requests);
  });

  test("gone and unneeded -> one look, each kind listed once; no write, no Event", async () => {
    const { b, made } = counted([mgmt, metal3Machine("m"), kubeadmConfigTemplate("c")]);
    await b.send(retain, "delete", t);
    const lists = made.filter((one) => one.startsWith("list "));
    expect(made.filter((one) => !lists.includes(one))).toEqual([...lookedUp, "discover"]);
    expect(new Set(lists).size).toBe(lists.length);
  });
});

test("a sweep over templates that are held -> one list of metadata per kind, and what may be unfinished", async () => {
  const { b, made } = counted([
    mgmt,
    held(t),
    held(metal3MachineTemplate("u")),
    held(kubeadmConfigTemplate("c")),
    machine,
  ]);
  await b.sweep(retain);
  expect([...made].sort()).toEqual([
    "discover",
    "list ApiServerSource",
    "list ConfigMap",
    "list KubeadmConfigTemplate (metadata)",
    "list Metal3MachineTemplate (metadata)",
  ]);
});
