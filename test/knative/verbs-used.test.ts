import { expect, test } from "vitest";
import { handle as collect } from "../../functions/collect-templates/index.ts";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import { type Cluster, ClusterError } from "../../shared/cluster.ts";
import type { Handle } from "../../shared/context.ts";
import { CORE, isTemplateKind } from "../../shared/kinds.ts";
import { RETAIN } from "../../shared/marks.ts";
import { type GroupKind, groupKindText, type KubeObject, keyOf } from "../../shared/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  held,
  kubeadmConfig,
  machineDeployment,
  metal3Machine,
  metal3MachineTemplate,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";
import { type FunctionName, USES, type Uses } from "./needs.ts";
import { kindsOf } from "./providers.ts";

/** Which part a kind plays for a role. A Cluster that is read alone is read as an owner; a list takes every kind. */
function partOf({ group, kind }: GroupKind, verb: string): keyof Uses {
  if (group === "" && kind === "ConfigMap") return "copies";
  if (group === "" && kind === "Namespace") return "namespaces";
  if (verb === "list") return "everything";
  if (isTemplateKind({ group, kind })) return "templates";
  if (group === CORE && ["Cluster", "ClusterClass"].includes(kind)) return "owners";
  throw new Error(`${verb} of ${groupKindText({ group, kind })} has no place in a role`);
}

/** The same cluster, with the verbs noted that an API server would have been asked for. */
function noting(cluster: Cluster, used: Set<string>): Cluster {
  const note = (verb: string, kind: GroupKind) => used.add(`${partOf(kind, verb)} ${verb}`);
  return {
    async discover() {
      used.add("definitions list");
      return cluster.discover();
    },
    async get(key) {
      note("get", key);
      return cluster.get(key);
    },
    async list(kind, options) {
      note("list", kind);
      return cluster.list(kind, options);
    },
    async patch(object, patch) {
      note("patch", keyOf(object));
      return cluster.patch(object, patch);
    },
    async create(object, options) {
      note("create", keyOf(object));
      return cluster.create(object, options);
    },
    async delete(object) {
      note("delete", keyOf(object));
      return cluster.delete(object);
    },
    async deleted(key, resourceVersion) {
      note("watch", key);
      return cluster.deleted(key, resourceVersion);
    },
    async record(event) {
      used.add("events create");
      return cluster.record(event);
    },
  };
}

const mgmt = cluster();
const template = ownedBy(metal3MachineTemplate("t"), mgmt);
const machine = metal3Machine("m", { clonedFrom: template });
const deployment = machineDeployment("md", { uses: [template] });
const going = terminating(held(retired(template)));

type Play = (stage: Bench, handle: Handle) => Promise<unknown>;
type Scene = readonly [situation: string, objects: readonly KubeObject[], play: Play];

const send =
  (action: "add" | "update" | "delete", of: KubeObject): Play =>
  async (stage, handle) =>
    stage.send(handle, action, await stage.live(of));

const sweep: Play = (stage, handle) => stage.sweep(handle);

/** The template's deletion, told with its last state. */
const deleted: Play = async (stage, handle) => {
  await stage.cluster.delete(await stage.live(template));
  const last = stage.changes.at(-1);
  if (last?.type !== "delete") throw new Error("the template was not deleted");
  return stage.send(handle, "delete", last.object);
};

/** The next creation of a template does not come through: what is left is for the next event. */
const crashed =
  (first: Play, then: Play): Play =>
  async (stage, handle) => {
    const { create } = stage.context.cluster;
    Object.assign(stage.context.cluster, {
      create: async (object: KubeObject, options?: { readonly dryRun?: boolean }) => {
        const isReal = isTemplateKind(keyOf(object)) && options?.dryRun !== true;
        if (isReal) throw new ClusterError("unavailable", "the API server went away");
        return create(object, options);
      },
    });
    await expect(first(stage, handle)).rejects.toThrow();
    Object.assign(stage.context.cluster, { create });
    return then(stage, handle);
  };

/** Someone else stores a copy of the same template at the same moment. */
const raced =
  (play: Play): Play =>
  async (stage, handle) => {
    const { create } = stage.context.cluster;
    Object.assign(stage.context.cluster, {
      create: async (object: KubeObject, options?: { readonly dryRun?: boolean }) => {
        if (object.kind === "ConfigMap") await stage.cluster.create(object);
        return create(object, options);
      },
    });
    return play(stage, handle);
  };

const later =
  (play: Play): Play =>
  async (stage, handle) => {
    stage.pass({ hours: 1 });
    return play(stage, handle);
  };

const RETAIN_SCENES: readonly Scene[] = [
  ["a new template", [mgmt, template], send("add", template)],
  ["a template whose deletion was asked for", [mgmt, terminating(held(template)), machine], send("update", template)],
  ["a template that got away", [mgmt, template, machine], deleted],
  ["one that got away and could not be created", [mgmt, template, machine], crashed(deleted, sweep)],
  ["one that two restore at once", [mgmt, template, machine], raced(deleted)],
  ["a sweep", [mgmt, template, machine], sweep],
  ["an opted-out template", [mgmt, annotated(template, { [RETAIN]: "false" })], send("update", template)],
];

const COLLECT_SCENES: readonly Scene[] = [
  ["a referrer that is gone", [mgmt, going], async (stage, handle) => stage.send(handle, "delete", machine)],
  ["a template that is still needed", [mgmt, going, machine], send("update", template)],
  ["an unneeded one that only our mark retires", [mgmt, held(retired(template))], later(later(sweep))],
  [
    "its grace period",
    [mgmt, held(retired(template))],
    async (stage, handle) => [await sweep(stage, handle), await later(sweep)(stage, handle)],
  ],
  ["one that is wanted again", [mgmt, going, deployment], later(send("update", deployment))],
  ["one whose renewal broke off", [mgmt, going, deployment], later(crashed(send("update", deployment), sweep))],
  ["one that two renew at once", [mgmt, going, deployment], later(raced(send("update", deployment)))],
  ["another finalizer on it", [mgmt, finalizedBy(going, "metal3")], send("update", template)],
  ["a Cluster that is unpaused", [mgmt, going, kubeadmConfig("c")], send("update", mgmt)],
];

const declared = (name: FunctionName) =>
  Object.entries(USES[name]).flatMap(([part, verbs]) => (verbs as readonly string[]).map((verb) => `${part} ${verb}`));

test.each<readonly [name: FunctionName, handle: Handle, scenes: readonly Scene[]]>([
  ["retain-templates", retain, RETAIN_SCENES],
  ["collect-templates", collect, COLLECT_SCENES],
])(
  "%s over all it does -> asks for the verbs of its role, each of them, and no other",
  async (name, handle, scenes) => {
    const used = new Set<string>();
    for (const [, objects, play] of scenes) {
      const stage = bench(structuredClone(objects), {}, (inner) => noting(inner, used));
      await play(stage, handle);
    }
    expect([...used].toSorted()).toEqual(declared(name).toSorted());
  },
);

test("retain-templates at an event that its Trigger keeps away -> would not even have asked", async () => {
  const used = new Set<string>();
  const others = kindsOf().filter((kind) => !isTemplateKind(kind));
  const stage = bench([], {}, (inner) => noting(inner, used));
  for (const { group, kind } of others) {
    const object = { apiVersion: `${group}/v1beta1`, kind, metadata: { name: "x", namespace: "sylva" } };
    await stage.send(retain, "update", object);
  }
  expect([others.length > 40, ...used]).toEqual([true]);
});
