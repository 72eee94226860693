import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { mayRefer } from "../../shared/graph/references.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { type GroupKind, groupOf } from "../../shared/objects/object.ts";
import { FUNCTIONS, type FunctionName } from "../knative/needs.ts";
import { kindsOf } from "../knative/providers.ts";
import type { Api } from "./harness/api-types.ts";
import { requestsSince } from "./harness/audit.ts";
import { coreVersion, ownedBy } from "./harness/capi-objects.ts";
import { type Answer, postCloudEvent } from "./harness/cloud-event.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { functionsNamespace, type ServedFunction, startFunction } from "./harness/functions.ts";
import { grantsOf, usesOf } from "./harness/grants.ts";
import { metal3Machine } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { allowRefusal } from "./harness/refusals.ts";
import { startRelay } from "./harness/relay.ts";
import { adopt, adoptionRefused, paused } from "./scenario/adopter.ts";
import { metal3Version, sweepOf } from "./scenario/caretakers.ts";
import { resourceEvent } from "./scenario/events.ts";
import { hold, isHeld, neededBy, renewedAt, retiredAt, retiredLabel, untilGone } from "./scenario/marks.ts";
import { accountOf, type Minimal, startMinimal, startSource } from "./scenario/minimal.ts";
import { jsonMark, notesOn, rewrittenFrom } from "./scenario/rewriter.ts";
import { letSeeSecrets, runGranting } from "./scenario/secret-rights.ts";
import { createWorld } from "./scenario/standing-world.ts";
import { oldServer, oneOfEachKind, owners, wantingEachKind } from "./scenario/template-kinds.ts";

const started = new Date();
const allowRollout = "capi-caretaker.io/allow-rollout";
const lately = { labels: { [retiredLabel]: "true" }, annotations: { [retiredAt]: "2026-01-01T00:00:00Z" } };

let minimal: Minimal;
let controlPlane: ControlPlane;
let api: Api;
let served: Record<FunctionName, ServedFunction>;

async function live(object: KubeObject | undefined): Promise<KubeObject> {
  const found = object && (await api.get(refOf(object)));
  if (found === undefined) throw new Error(`${object?.kind} ${object?.metadata.name} is not there`);
  return found;
}

/** Tells a function of an object as it now is. Throws where it does not answer with success. */
async function tell(to: FunctionName, action: "add" | "update" | "delete", object: KubeObject): Promise<Answer> {
  const answer = await postCloudEvent(served[to].url, resourceEvent(action, object));
  if (answer.status !== 200 && answer.status !== 204) throw new Error(`${to}: ${answer.status} ${answer.body}`);
  return answer;
}

async function createNamespace(name: string): Promise<void> {
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** A Cluster and a ClusterClass that wants one template of each kind, and those templates, owned by both. */
async function createWanted(namespace: string, metadata: Partial<KubeObject["metadata"]>): Promise<KubeObject[]> {
  await createNamespace(namespace);
  const endpoint = { controlPlaneEndpoint: { host: "127.0.0.1", port: 6443 } };
  const cluster = await api.create({
    apiVersion: coreVersion,
    kind: "Cluster",
    metadata: { name: "mgmt", namespace },
    spec: endpoint,
  });
  const { clusterClass, user } = wantingEachKind(namespace);
  await api.create(user);
  const owned = owners(cluster, await api.create(clusterClass));
  return Promise.all(oneOfEachKind(namespace, { ...metadata, ...owned }).map((one) => api.create(one)));
}

/** A copy that somebody damaged, in the place where the function will keep its own. */
async function damageCopyOf(
  { apiVersion, kind, metadata: { namespace, name } }: KubeObject,
  concern: FunctionName,
): Promise<void> {
  const digest = createHash("sha256")
    .update(`${groupOf(apiVersion)}/${kind}/${namespace}/${name}`)
    .digest("hex")
    .slice(0, 32);
  const labels = { "capi-caretaker.io/copy-of": concern };
  const metadata = { name: `copy-${digest}`, namespace: functionsNamespace, labels };
  await api.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data: {} });
}

beforeAll(async () => {
  minimal = await startMinimal();
  controlPlane = minimal.controlPlane;
  api = controlPlane.api;
  const rules = join(controlPlane.folder, "rewrite-rules.yaml");
  writeFileSync(rules, stringify({ rules: [{ from: oldServer, to: "http://10.10.10.18/", check: "none" }] }));
  const env = { COLLECT_GRACE: "PT0S", RENEW_AFTER: "PT0S", REWRITE_RULES: rules };
  const all = await Promise.all(
    FUNCTIONS.map(async (name) => [name, await startFunction(name, controlPlane, { env })]),
  );
  served = Object.fromEntries(all) as Record<FunctionName, ServedFunction>;
});

/** The kinds of the overlay minimal that can refer to a template and are none. */
function referrersTo({ apiVersion, kind }: KubeObject): readonly GroupKind[] {
  const target = { group: groupOf(apiVersion), kind };
  return kindsOf("core", "kubeadm", "metal3").filter((one) => !isTemplateKind(one) && mayRefer(one, target));
}

describe("a template of each kind", () => {
  test("appears, and its deletion is asked for -> held, recorded, let go", async () => {
    await createNamespace("unneeded");
    const templates = await Promise.all(oneOfEachKind("unneeded").map((one) => api.create(one)));
    for (const one of templates) {
      await tell("retain-templates", "add", one);
      expect([one.kind, isHeld(await live(one))]).toEqual([one.kind, true]);
      await api.delete(refOf(one));
      await tell("retain-templates", "update", await live(one));
      expect((await live(one)).metadata.annotations).toHaveProperty([retiredAt]);
      await tell("collect-templates", "update", await live(one));
    }
    await untilGone(api, templates);
  });

  test("was deleted unheld while needed, and a copy in its place is damaged -> restored", async () => {
    const templates = await createWanted("restored", {});
    const [damaged] = templates;
    if (damaged !== undefined) await damageCopyOf(damaged, "retain-templates");
    for (const one of templates) {
      await api.delete(refOf(one));
      await tell("retain-templates", "delete", one);
      const back = await live(one);
      expect([one.kind, isHeld(back), back.metadata.ownerReferences?.length]).toEqual([one.kind, true, 2]);
    }
    await sweepOf(served["retain-templates"]);
  });

  test("only our mark says that it is retired, and nothing needs it -> collected", async () => {
    await createNamespace("marked");
    const templates = oneOfEachKind("marked", { ...lately, finalizers: [hold] });
    for (const one of templates) await api.create(one);
    await sweepOf(served["collect-templates"]);
    await sweepOf(served["collect-templates"]);
    await untilGone(api, templates);
  });

  test("notes witnesses of every kind that can refer to it, none of which is there -> each is asked, and it is let go", async () => {
    const namespace = "forged";
    await createNamespace(namespace);
    const endpoint = { host: "127.0.0.1", port: 6443 };
    // What nothing needs stays while its Cluster is paused, so that one note after the other can be asked.
    const owner = await api.create({
      apiVersion: coreVersion,
      kind: "Cluster",
      metadata: { name: "mgmt", namespace },
      spec: { controlPlaneEndpoint: endpoint, paused: true },
    });
    const metadata = { ...lately, finalizers: [hold], ...owners(owner) };
    const templates = await Promise.all(oneOfEachKind(namespace, metadata).map((one) => api.create(one)));
    for (const one of templates) {
      await api.delete(refOf(one));
      const referrers = referrersTo(one);
      for (let from = 0; from < referrers.length; from += 3) {
        const noted = referrers.slice(from, from + 3).map(({ group, kind }) => `${group}/${kind}/${namespace}/x`);
        const annotations = { [neededBy]: JSON.stringify(noted) };
        await tell("collect-templates", "update", await api.mergePatch(refOf(one), { metadata: { annotations } }));
      }
    }
    await api.mergePatch(refOf(owner), { spec: { paused: null } });
    await sweepOf(served["collect-templates"]);
    await untilGone(api, templates);
  });

  test("is Terminating and wanted, and a copy in its place is damaged -> renewed", async () => {
    const templates = await createWanted("wanted", { ...lately, finalizers: [hold] });
    const [damaged] = templates;
    if (damaged !== undefined) await damageCopyOf(damaged, "collect-templates");
    for (const one of templates) await api.delete(refOf(one));
    await sweepOf(served["collect-templates"]);
    for (const one of templates) {
      const renewed = await live(one);
      expect([one.kind, renewed.metadata.uid === one.metadata.uid]).toEqual([one.kind, false]);
      expect(renewed.metadata.annotations).toHaveProperty([renewedAt]);
    }
  });

  test("holds an old URL -> rewritten where its kind allows it, else refused; a machine without a host likewise", async () => {
    await createNamespace("rewritten");
    const templates = await Promise.all(oneOfEachKind("rewritten").map((one) => api.create(one)));
    const machine = metal3Machine("rewritten", "m", "v1beta1");
    const url = `${oldServer}node.qcow2`;
    const image = { ...(valueAt(machine, "spec", "image") as object), url };
    const born = await api.create({ ...machine, spec: { ...machine.spec, image } });
    for (const one of [...templates, born]) await tell("rewrite-urls", "add", one);
    const found = await Promise.all(
      [...templates, born].map(async (one) => {
        if (jsonMark(await live(one), rewrittenFrom) !== undefined) return `${one.kind} rewritten`;
        return `${one.kind} refused ${(await notesOn(api, one, "RewriteRefused")).length}`;
      }),
    );
    expect(found.toSorted()).toEqual([
      "KubeadmConfigTemplate rewritten",
      "KubeadmControlPlaneTemplate refused 1",
      "Metal3ClusterTemplate refused 1",
      "Metal3DataTemplate refused 1",
      "Metal3Machine rewritten",
      "Metal3MachineTemplate rewritten",
      "Metal3RemediationTemplate refused 1",
    ]);
    await sweepOf(served["rewrite-urls"]);
    // Whether a Cluster is still unpaused is asked before anything is listed.
    const spec = { controlPlaneEndpoint: { host: "127.0.0.1", port: 6443 } };
    const metadata = { name: "mgmt", namespace: "rewritten" };
    await tell(
      "rewrite-urls",
      "update",
      await api.create({ apiVersion: coreVersion, kind: "Cluster", metadata, spec }),
    );
  });
});

describe("machines without a control plane that owns them", () => {
  test("the function may not see the secrets -> refused with the command that grants it; once it was run, adopted", async () => {
    allowRefusal({ account: `${functionsNamespace}/label-machines`, grant: "get /secrets" });
    const world = await createWorld(api, "adopted");
    const plane = await live(world.get("KubeadmControlPlane/mgmt"));
    await tell("label-machines", "update", plane);
    expect((await live(plane)).metadata.annotations?.[adoptionRefused]).toBe("secrets-unreadable");
    const [note = ""] = await notesOn(api, plane, "AdoptionRefused");
    await runGranting(api, note.slice(note.indexOf("kubectl")));

    // The last config tells its cluster by its machine alone.
    const config = await live(world.get("KubeadmConfig/cp-3"));
    const ownerReferences = [ownedBy(await live(world.get("Machine/cp-3")), true)];
    const metadata = { labels: { "cluster.x-k8s.io/cluster-name": null }, ownerReferences };
    await tell("label-machines", "update", await api.mergePatch(refOf(config), { metadata }));
    const labelled = (await live(plane)).metadata.annotations;
    expect([labelled?.[adoptionRefused], labelled?.[paused]]).toEqual([undefined, undefined]);
    expect(await notesOn(api, plane, "AdoptionRefused")).toEqual([]);

    // The control plane's own controller adopts.
    for (const name of ["cp-1", "cp-2", "cp-3"]) {
      const machine = await live(world.get(`Machine/${name}`));
      await api.mergePatch(refOf(machine), { metadata: { ownerReferences: [ownedBy(plane, true)] } });
    }
    await sweepOf(served["label-machines"]);
    expect((await live(plane)).metadata.annotations?.[adopt]).toBeUndefined();
    expect(await notesOn(api, plane, "Adopted")).toHaveLength(1);
  });

  test("a Cluster without a control plane, its configuration in a ConfigMap that the function may not read -> refused with the command; once it was run, a control plane and its machine template are written", async () => {
    allowRefusal({ account: `${functionsNamespace}/label-machines`, grant: "get /configmaps" });
    const world = await createWorld(api, "prepared", (object) => {
      if (["KubeadmControlPlane", "Metal3MachineTemplate"].includes(object.kind)) return undefined;
      const { clusterConfiguration: _, ...spec } = object.spec ?? {};
      return object.kind === "KubeadmConfig" ? { ...object, spec } : object;
    });
    await letSeeSecrets(api, "prepared", "mgmt");
    const given = { name: "mgmt-kubeadm-config", namespace: "prepared" };
    const data = { ClusterConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n" };
    await api.create({ apiVersion: "v1", kind: "ConfigMap", metadata: given, data });
    const cluster = await live(world.get("Cluster/mgmt"));
    await api.jsonPatch(refOf(cluster), [{ op: "remove", path: "/spec/controlPlaneRef" }]);
    const annotations = { [adopt]: "true", [allowRollout]: "true" };
    await tell("label-machines", "update", await api.mergePatch(refOf(cluster), { metadata: { annotations } }));
    const notes = (await notesOn(api, cluster, "AdoptionRefused")).join(" ");
    await runGranting(api, notes.slice(notes.indexOf("kubectl")));

    await tell("label-machines", "update", await live(cluster));
    const kind = "Metal3MachineTemplate";
    expect(await api.list({ apiVersion: metal3Version, kind, namespace: "prepared" })).toHaveLength(1);
    expect(valueAt(await live(cluster), "spec", "controlPlaneRef", "kind")).toBe("KubeadmControlPlane");
  });
});

describe("what was asked for", () => {
  /** Paths that every user may ask for, by which the kinds are found and the first connection is made. */
  const isDiscovery = (path: string) => /^get \/(version|apis?(\/[-.a-z0-9]+){0,2})$/.test(path);

  test.each(FUNCTIONS)("%s -> used every right that its roles grant, and no other", async (name) => {
    const account = { namespace: functionsNamespace, name };
    const granted = await grantsOf(api, account);
    const { used, others } = usesOf(requestsSince(controlPlane, started), account, granted);
    expect([...used].toSorted()).toEqual([...granted].toSorted());
    expect([...others].filter((path) => !isDiscovery(path))).toEqual([]);
  });

  /** Granted and not used by the adapter: Knative's controller does not start it unless its account may do all three. */
  const reviewed = ["get"];

  test("the event sources, under their own accounts -> used every right that is not only reviewed", async () => {
    const relay = await startRelay();
    for (const source of minimal.sources) await startSource(controlPlane, source, relay.url);
    for (const account of minimal.sources.map(accountOf)) {
      const granted = await grantsOf(api, account);
      const { used } = usesOf(requestsSince(controlPlane, started), account, granted);
      const idle = [...granted].filter(
        (grant) => !used.has(grant) && !reviewed.some((verb) => grant.startsWith(`${verb} `)),
      );
      expect([account.name, granted.size > 0, ...idle]).toEqual([account.name, true]);
    }
  });
});
