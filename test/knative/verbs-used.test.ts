import { beforeAll, describe, expect, test } from "vitest";
import { handle as collect } from "../../functions/collect-templates/index.ts";
import { handle as label } from "../../functions/label-machines/index.ts";
import { ADOPT, ADOPTION_REFUSED } from "../../functions/label-machines/marks.ts";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import type { Handle } from "../../shared/acts/context.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import { RETAIN } from "../../shared/marks/marks.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { type GroupKind, type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  held,
  kubeadmConfig,
  kubeadmConfigTemplate,
  machineDeployment,
  metal3Machine,
  metal3MachineTemplate,
  object,
  ownedBy,
  retired,
  rke2ConfigTemplate,
  rke2ControlPlane,
  terminating,
} from "../build/objects.ts";
import * as adoption from "../label-machines/build.ts";
import { bareMetalHost, image, OLD, RULES, under, withSpec } from "../rewrite-urls/world.ts";
import { needsOf } from "./needs.ts";
import { kindsOf } from "./providers.ts";

/** The same cluster, with what an API server would have been asked for noted as "verb group/Kind". */
function noting(cluster: Cluster, used: Set<string>): Cluster {
  const note = (verb: string, { group, kind }: GroupKind) => used.add(`${verb} ${group}/${kind}`);
  return {
    // Whether a secret is there is asked by a right that a person grants apart; no role here has it.
    ...adoption.withExistence(cluster),
    async discover() {
      note("list", { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" });
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
    async *pages(kind, options) {
      note("list", kind);
      yield* cluster.pages(kind, options);
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
      note("create", { group: "events.k8s.io", kind: "Event" });
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

const picture = withSpec(metal3MachineTemplate("t"), image({ url: `${OLD}/os.qcow2` }));
const born = withSpec(metal3Machine("m"), { image: { url: `${OLD}/os.qcow2` } });
const downloads = { template: { spec: { files: [{ contentFrom: { url: `${OLD}/a` } }] } } };

const REWRITE_SCENES: readonly Scene[] = [
  ["a template with an old URL", [mgmt, picture, bareMetalHost("h")], send("add", picture)],
  ["a Cluster that is unpaused", [mgmt, picture], send("update", mgmt)],
  ["a machine that has no host yet", [mgmt, born, bareMetalHost("h")], send("add", born)],
  [
    "configs with an old URL, found by a sweep",
    [mgmt, withSpec(kubeadmConfigTemplate("k"), downloads), withSpec(rke2ConfigTemplate("r"), downloads)],
    sweep,
  ],
];

const members = adoption.NAMES.map((name) => adoption.machine(name));
const adopted = adoption.replaced(
  adoption.world(),
  ...members.map((one) => ownedBy(adoption.seen(one), adoption.kcp, true)),
);
const said = object("Event.events.k8s.io/v1", "said", {
  reason: "AdoptionRefused",
  regarding: { kind: "KubeadmControlPlane", name: "mgmt" },
});
const unlabelledConfig = ownedBy(
  object("KubeadmConfig.bootstrap.cluster.x-k8s.io/v1beta2", "cp-2", {
    spec: { joinConfiguration: { controlPlane: {} } },
  }),
  adoption.machine("cp-2"),
);
const wasRefused = annotated(adoption.kcp, { [ADOPTION_REFUSED]: "kcp-not-paused" });
const bare = annotated(adoption.changed(adoption.cluster, { spec: { controlPlaneRef: null } }), { [ADOPT]: "true" });
const ofRke2 = annotated(rke2ControlPlane("r"), { [ADOPT]: "true" });

const LABEL_SCENES: readonly Scene[] = [
  ["machines that wait for their control plane", adoption.world(), send("update", adoption.kcp)],
  [
    "a config that only its machine tells the cluster of",
    adoption.replaced(adoption.world(), unlabelledConfig),
    send("update", unlabelledConfig),
  ],
  ["machines that are adopted", adopted, send("update", adoption.kcp)],
  ["a refusal whose cause is gone", [...adoption.replaced(adoption.world(), wasRefused), said], sweep],
  ["a control plane of RKE2", [...adoption.world(), ofRke2], send("update", ofRke2)],
  [
    "a Cluster without a control plane",
    adoption.replaced(adoption.without(adoption.world(), adoption.kcp, adoption.infraTemplate), bare),
    send("update", bare),
  ],
];

describe.each<{
  readonly name: Parameters<typeof needsOf>[0];
  readonly handle: Handle;
  readonly scenes: readonly Scene[];
}>([
  { name: "retain-templates", handle: retain, scenes: RETAIN_SCENES },
  { name: "collect-templates", handle: collect, scenes: COLLECT_SCENES },
  { name: "rewrite-urls", handle: under(RULES), scenes: REWRITE_SCENES },
  { name: "label-machines", handle: label, scenes: LABEL_SCENES },
])("$name over all it does", ({ name, handle, scenes }) => {
  const used = new Set<string>();

  beforeAll(async () => {
    for (const [, objects, play] of scenes) {
      const stage = bench(structuredClone(objects), {}, (inner) => noting(inner, used));
      await play(stage, handle);
    }
  });

  test("what it asked for -> has a place in its role", () => {
    const needs = needsOf(name);
    const unforeseen = [...used].filter((one) => !needs.some(({ asks }) => asks.includes(one)));
    expect(unforeseen).toEqual([]);
  });

  test("what its role is made of -> was asked for", () => {
    const idle = needsOf(name).filter(({ asks }) => !asks.some((one) => used.has(one)));
    expect(idle.map(({ what }) => what)).toEqual([]);
  });
});

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
