import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { groupOf } from "../../shared/objects/object.ts";
import { kindsOf, pluralOf } from "../knative/providers.ts";
import { requestsSince } from "./harness/audit.ts";
import { type Answer, postCloudEvent } from "./harness/cloud-event.ts";
import { type ControlPlane, startControlPlane } from "./harness/control-plane.ts";
import { capiCrds, installCrds, knativeCrds, providerCrds } from "./harness/crds.ts";
import type { ServedFunction } from "./harness/functions.ts";
import { kustomized } from "./harness/kustomize.ts";
import { metal3Machine, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { allowRefusal } from "./harness/refusals.ts";
import { metal3Version, sweepOf } from "./scenario/caretakers.ts";
import { resourceEvent } from "./scenario/events.ts";
import { isHeld, retiredAt, untilGone } from "./scenario/marks.ts";
import { imageUrlOf } from "./scenario/rewriter.ts";
import { type Installed, installOverlay } from "./scenario/tenant.ts";

const others = "team-b";
let controlPlane: ControlPlane;
let tenant: Installed;
let retain: ServedFunction;
let collect: ServedFunction;
let installed: Date;

const template = (namespace: string, name: string): KubeObject =>
  metal3MachineTemplate({ namespace, name, version: "v1beta1" });

/** A machine as Cluster API clones it from a template. */
function machineOf({ metadata: { namespace = "", name } }: KubeObject): KubeObject {
  const machine = metal3Machine(namespace, `${name}-machine`, "v1beta1");
  const annotations = {
    "cluster.x-k8s.io/cloned-from-name": name,
    "cluster.x-k8s.io/cloned-from-groupkind": `Metal3MachineTemplate.${groupOf(metal3Version)}`,
  };
  return { ...machine, metadata: { ...machine.metadata, annotations } };
}

async function live(object: KubeObject): Promise<KubeObject> {
  const found = await controlPlane.api.get(refOf(object));
  if (found === undefined) throw new Error(`${object.metadata.namespace}/${object.metadata.name} is not there`);
  return found;
}

/** Tells a function of an object as it now is. */
async function tell(to: ServedFunction, action: "add" | "update" | "delete", object: KubeObject): Promise<Answer> {
  return postCloudEvent(to.url, resourceEvent(action, object));
}

/** What the functions' accounts asked for since a time. */
function askedSince(since: Date) {
  const prefix = `system:serviceaccount:${tenant.namespace}:`;
  return requestsSince(controlPlane, since).filter(({ user }) => user.username.startsWith(prefix));
}

const refusedSince = (since: Date) =>
  askedSince(since)
    .filter(({ responseStatus }) => responseStatus?.code === 403)
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);

beforeAll(async () => {
  controlPlane = await startControlPlane({ audit: true });
  const { api } = controlPlane;
  // The overlay names these providers; a kind of another one could not be read, and would be said so.
  const kinds = [...kindsOf("core", "kubeadm", "metal3"), { group: "metal3.io", kind: "BareMetalHost" }];
  const named = new Set(kinds.map(({ group, kind }) => `${kind}.${group}`));
  const crds = [...capiCrds(), ...providerCrds()].filter(({ spec }) => named.has(`${spec.names.kind}.${spec.group}`));
  await installCrds(api, crds);
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: others } });
  tenant = await installOverlay(controlPlane, "tenant");
  retain = await tenant.serve("retain-templates");
  collect = await tenant.serve("collect-templates");
  installed = new Date();
});

test("templates of the tenant -> held at an event and at a sweep, kept while needed, gone afterwards; nothing is refused", async () => {
  const { api } = controlPlane;
  const [used, spare] = [template(tenant.namespace, "used"), template(tenant.namespace, "spare")];
  const machine = await api.create(machineOf(used));
  const created = await api.create(used);
  await api.create(spare);
  expect((await tell(retain, "add", created)).status).toBe(200);
  expect([isHeld(await live(used)), isHeld(await live(spare))]).toEqual([true, false]);
  await sweepOf(retain);
  expect(isHeld(await live(spare))).toBe(true);

  await api.delete(refOf(used));
  expect((await tell(retain, "update", await live(used))).status).toBe(200);
  expect((await live(used)).metadata.annotations).toHaveProperty([retiredAt]);
  await tell(collect, "update", await live(used));
  await sweepOf(collect);
  expect(isHeld(await live(used))).toBe(true);

  await api.delete(refOf(machine));
  expect((await tell(collect, "delete", machine)).status).toBe(200);
  await untilGone(api, [used]);
  expect(isHeld(await live(spare))).toBe(true);
  expect(refusedSince(installed)).toEqual([]);
});

test("a template of the tenant that was deleted unheld while needed -> comes back", async () => {
  const { api } = controlPlane;
  const lost = template(tenant.namespace, "lost");
  await api.create(machineOf(lost));
  const created = await api.create(lost);
  await api.delete(refOf(lost));
  expect((await tell(retain, "delete", created)).status).toBe(200);
  expect(isHeld(await live(lost))).toBe(true);
  expect(refusedSince(installed)).toEqual([]);
});

test("templates of another namespace -> an event is answered 204 and asks for nothing, a sweep leaves them as they are", async () => {
  const { api } = controlPlane;
  const [used, spent] = [template(others, "used"), template(others, "spent")];
  const machine = await api.create(machineOf(used));
  await api.create(used);
  const finalizers = ["capi-caretaker.io/in-use"];
  await api.create({ ...spent, metadata: { ...spent.metadata, finalizers } });
  await api.delete(refOf(spent));
  const before = await Promise.all([used, spent].map(live));

  const since = new Date();
  const answers = [];
  for (const object of before) {
    answers.push(await tell(retain, "add", object), await tell(retain, "delete", object));
    answers.push(await tell(collect, "update", object), await tell(collect, "delete", object));
  }
  answers.push(await tell(collect, "delete", machine));
  expect(new Set(answers.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(["204 "]));
  expect(askedSince(since)).toEqual([]);

  await sweepOf(retain);
  await sweepOf(collect);
  expect(askedSince(since).length).toBeGreaterThan(0);
  expect(await Promise.all([used, spent].map(live))).toEqual(before);
  expect(refusedSince(installed)).toEqual([]);
});

test("rewrite-urls and label-machines -> sweep the tenant's namespace alone; nothing is refused", async () => {
  const { api } = controlPlane;
  const [from, to] = ["http://10.10.10.17/", "http://10.10.10.18/"];
  const pictured = (namespace: string): KubeObject =>
    metal3MachineTemplate({ namespace, name: "pictured", version: "v1beta1", imageUrl: `${from}node.qcow2` });
  for (const namespace of [tenant.namespace, others]) await api.create(pictured(namespace));
  const rules = join(controlPlane.folder, "rules.yaml");
  writeFileSync(rules, stringify({ rules: [{ from, to, check: "none" }] }));
  await sweepOf(await tenant.serve("rewrite-urls", { REWRITE_RULES: rules }));
  expect(imageUrlOf(await live(pictured(tenant.namespace)))).toBe(`${to}node.qcow2`);
  expect(imageUrlOf(await live(pictured(others)))).toBe(`${from}node.qcow2`);
  await sweepOf(await tenant.serve("label-machines"));
  expect(refusedSince(installed)).toEqual([]);
});

test("a version that a source watches is not served -> the sweep warns on that source, and of no other; nothing is refused", async () => {
  const { api } = controlPlane;
  await installCrds(
    api,
    knativeCrds().filter(({ spec }) => spec.names.kind === "ApiServerSource"),
  );
  const { namespace } = tenant;
  const sources = (folder: string) =>
    kustomized(folder).filter(({ kind }) => kind === "ApiServerSource") as KubeObject[];
  for (const source of sources("overlays/tenant")) await api.apply(source);
  expect((await sweepOf(retain)).reply?.data).not.toHaveProperty(["counts", "unserved-versions"]);

  const [stale] = sources("components/core-v1beta1");
  if (stale === undefined) throw new Error("no source");
  await api.apply({ ...stale, metadata: { ...stale.metadata, name: "stale", namespace } });
  expect((await sweepOf(retain)).reply?.data).toMatchObject({ counts: { "unserved-versions": 7 } });
  const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event", namespace });
  const warnings = events.filter(({ reason }) => reason === "WatchedVersionNotServed");
  expect(warnings.map((event) => [valueAt(event, "regarding", "name"), event.note])).toEqual([
    ["stale", expect.stringContaining("Use the component for the version that is served: cluster.x-k8s.io/v1beta2.")],
  ]);
  expect(refusedSince(installed)).toEqual([]);
});

test("the same account without NAMESPACES -> is refused everywhere and does nothing: the setting is what it takes", async () => {
  const fresh = await controlPlane.api.create(template(tenant.namespace, "fresh"));
  const since = new Date();
  for (const kind of kindsOf("core", "kubeadm", "metal3").filter(isTemplateKind)) {
    const account = `${tenant.namespace}/retain-templates`;
    allowRefusal({ account, grant: `list ${kind.group}/${pluralOf(kind)}` });
  }
  const { reply } = await sweepOf(await tenant.serve("retain-templates", { NAMESPACES: "" }));
  expect(reply?.data).toMatchObject({ acts: [] });
  expect(refusedSince(since)).toContain(`list /apis/${metal3Version}/metal3machinetemplates?limit=500`);
  expect(isHeld(await live(fresh))).toBe(false);
});
