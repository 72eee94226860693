import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { kubernetesCluster } from "../../shared/cluster/kubernetes/cluster.ts";
import { loadLogin } from "../../shared/cluster/kubernetes/load-login.ts";
import { createRequest, jsonOf } from "../../shared/cluster/kubernetes/request.ts";
import { createTransport } from "../../shared/cluster/kubernetes/transport.ts";
import { HOLD } from "../../shared/marks/marks.ts";
import { INFRASTRUCTURE, NAMESPACE } from "../../shared/objects/kinds.ts";
import { KubeObject, keyOf } from "../../shared/objects/object.ts";
import { requestsSince } from "./harness/audit.ts";
import { type ControlPlane, startControlPlane } from "./harness/control-plane.ts";
import type { Crd } from "./harness/crd-files.ts";
import { installCrds } from "./harness/crds.ts";
import { readKubeconfig, writeKubeconfig } from "./harness/kubeconfig.ts";
import type { Fields } from "./harness/objects.ts";
import { openCrd } from "./harness/open-crds.ts";
import { allowRefusal } from "./harness/refusals.ts";
import { serviceAccountKubeconfig } from "./harness/service-account.ts";
import { eventually } from "./harness/wait.ts";

const namespace = "sylva";
const TEMPLATE = { group: INFRASTRUCTURE, kind: "FooMachineTemplate" };
const MACHINE = { group: INFRASTRUCTURE, kind: "FooMachine" };
const UPGRADED = { group: INFRASTRUCTURE, kind: "FooCluster" };

let controlPlane: ControlPlane;
let cluster: Cluster;

/** A kind that a provider has moved on from: both versions are served, the older one is stored. */
function twoVersions(kind: string): Crd {
  const crd = openCrd(INFRASTRUCTURE, "v1beta1", kind);
  const [version] = crd.spec.versions;
  if (version === undefined) throw new Error("no version");
  return { ...crd, spec: { ...crd.spec, versions: [version, { ...version, name: "v1beta2", storage: false }] } };
}

function made(kind: string, name: string, metadata: Fields = {}, spec: Fields = { image: "http://a" }): KubeObject {
  const apiVersion = `${INFRASTRUCTURE}/v1beta1`;
  return KubeObject.parse({ apiVersion, kind, metadata: { name, namespace, ...metadata }, spec });
}

const template = (name: string, metadata: Fields = {}): KubeObject => made(TEMPLATE.kind, name, metadata);

/** A template as the cluster has it. */
const created = (name: string, metadata: Fields = {}): Promise<KubeObject> => cluster.create(template(name, metadata));

async function live(object: KubeObject): Promise<KubeObject> {
  const found = await cluster.get(keyOf(object));
  if (found === undefined) throw new Error(`${object.metadata.name} is not there`);
  return found;
}

beforeAll(async () => {
  controlPlane = await startControlPlane({ audit: true });
  await installCrds(controlPlane.api, [
    openCrd(INFRASTRUCTURE, "v1beta1", TEMPLATE.kind),
    openCrd(INFRASTRUCTURE, "v1beta1", MACHINE.kind),
    twoVersions(UPGRADED.kind),
  ]);
  await controlPlane.api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  cluster = await kubernetesCluster({ kubeconfig: controlPlane.kubeconfig });
});

test("discovery tells every kind once, at its preferred version, and nothing hidden", async () => {
  const { served, hidden } = await cluster.discover();
  const found = served.filter(({ group }) => group === INFRASTRUCTURE);
  const { group } = TEMPLATE;
  expect(found.toSorted((a, b) => a.plural.localeCompare(b.plural))).toEqual([
    { group, kind: "FooCluster", version: "v1beta2", plural: "fooclusters", namespaced: true },
    { group, kind: "FooMachine", version: "v1beta1", plural: "foomachines", namespaced: true },
    { group, kind: "FooMachineTemplate", version: "v1beta1", plural: "foomachinetemplates", namespaced: true },
  ]);
  expect(hidden).toEqual([]);
});

test("a patch and a deletion hold only for the object as it was read", async () => {
  const first = await created("preconditions");
  const patched = await cluster.patch(first, { metadata: { labels: { a: "b" } } });
  expect(patched?.metadata.labels).toEqual({ a: "b" });
  const stranger = KubeObject.parse({
    ...patched,
    metadata: { ...patched?.metadata, uid: "11111111-1111-1111-1111-111111111111" },
  });

  for (const stale of [first, stranger]) {
    await expect(cluster.patch(stale, { metadata: { labels: { a: "c" } } })).rejects.toMatchObject({
      failure: "conflict",
    });
    await expect(cluster.delete(stale)).rejects.toMatchObject({ failure: "conflict" });
  }
  const now = await live(first);
  expect(now).toEqual(patched);
  expect(now.metadata.managedFields?.map(({ manager }) => manager)).toEqual(["capi-caretaker"]);

  await cluster.delete(now);
  expect(await cluster.get(keyOf(first))).toBeUndefined();
  await expect(cluster.patch(now, {})).rejects.toMatchObject({ failure: "not-found" });
  await expect(cluster.delete(now)).rejects.toMatchObject({ failure: "not-found" });
});

test("what the server refuses is invalid, and what is there already exists", async () => {
  const first = await created("refused");
  await expect(cluster.patch(first, { spec: "text" })).rejects.toMatchObject({ failure: "invalid" });
  await expect(created("refused")).rejects.toMatchObject({ failure: "already-exists" });
  await expect(created("No Name")).rejects.toMatchObject({ failure: "invalid" });
});

test("a deleted object stays while it has a finalizer, takes no new one, and goes with the last", async () => {
  const held = await created("held", { finalizers: [HOLD, "example.com/other"] });
  await cluster.delete(held);
  const terminating = await live(held);
  expect(terminating.metadata.deletionTimestamp).toBeDefined();
  const more = [HOLD, "example.com/other", "example.com/late"];
  await expect(cluster.patch(terminating, { metadata: { finalizers: more } })).rejects.toMatchObject({
    failure: "invalid",
  });
  const released = await cluster.patch(terminating, { metadata: { finalizers: ["example.com/other"] } });
  if (released === undefined) throw new Error("gone too early");
  expect(await cluster.patch(released, { metadata: { finalizers: [] } })).toBeUndefined();
  expect(await cluster.get(keyOf(held))).toBeUndefined();
});

test("a dry run stores nothing, and admission and names count as for real", async () => {
  await controlPlane.api.create({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "no-banned" },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [INFRASTRUCTURE], apiVersions: ["*"], operations: ["CREATE"], resources: ["*"] }],
      },
      validations: [{ expression: "!object.metadata.name.startsWith('banned')" }],
    },
  });
  await controlPlane.api.create({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "no-banned" },
    spec: { policyName: "no-banned", validationActions: ["Deny"] },
  });
  await eventually("the policy to hold", async () => {
    const outcome = await cluster.create(template("banned"), { dryRun: true }).catch((error) => error.failure);
    return outcome === "invalid";
  });
  await created("dry");
  await expect(cluster.create(template("dry"), { dryRun: true })).rejects.toMatchObject({ failure: "already-exists" });
  expect((await cluster.create(template("dry-2"), { dryRun: true })).metadata.uid).toBeDefined();
  expect(await cluster.get(keyOf(template("dry-2")))).toBeUndefined();
});

test("nothing is created in a namespace that is missing or Terminating", async () => {
  const elsewhere = (where: string) => cluster.create(template("x", { namespace: where }));
  await expect(elsewhere("nowhere")).rejects.toMatchObject({ failure: "not-found" });
  await controlPlane.api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "leaving" } });
  const held = await cluster.create(template("held", { namespace: "leaving", finalizers: [HOLD] }));
  await controlPlane.api.delete({ apiVersion: "v1", kind: "Namespace", name: "leaving" });
  await expect(elsewhere("leaving")).rejects.toMatchObject({ failure: "forbidden" });
  const terminating = await eventually("the namespace to take its content along", async () => {
    const now = await live(held);
    return now.metadata.deletionTimestamp ? now : undefined;
  });
  await cluster.patch(terminating, { metadata: { finalizers: [] } });
  await eventually("the namespace to go", async () => {
    return (await cluster.get({ ...NAMESPACE, namespace: "", name: "leaving" })) === undefined;
  });
});

test("the server tells the last state of what was deleted, and only of what was deleted", async () => {
  const first = await created("deleted", { labels: { life: "first" } });
  await cluster.delete(first);
  const once = await cluster.deleted(keyOf(first), first.metadata.resourceVersion ?? "");
  expect(once).toMatchObject({ spec: first.spec, metadata: { uid: first.metadata.uid, labels: { life: "first" } } });
  expect(once?.metadata.managedFields).toEqual(first.metadata.managedFields);
  // An event of the deletion carries its resourceVersion, and the watch begins just before it.
  const at = once?.metadata.resourceVersion ?? "";
  expect((await cluster.deleted(keyOf(first), at))?.metadata.uid).toBe(first.metadata.uid);
  expect(await cluster.deleted(keyOf(first), String(BigInt(at) + 1n))).toBeUndefined();

  const second = await created("deleted", { labels: { life: "second" } });
  expect((await cluster.deleted(keyOf(first), at))?.metadata.uid).toBe(first.metadata.uid);
  await cluster.delete(second);
  expect((await cluster.deleted(keyOf(first), at))?.metadata.uid).toBe(second.metadata.uid);

  const staying = await created("staying");
  expect(await cluster.deleted(keyOf(staying), staying.metadata.resourceVersion ?? "")).toBeUndefined();
  expect(await cluster.deleted(keyOf(template("never")), at)).toBeUndefined();
  expect(await cluster.deleted(keyOf(first), "999999999999")).toBeUndefined();
  await expect(cluster.deleted(keyOf(first), "2")).rejects.toMatchObject({ failure: "expired" });
});

test("metadata alone comes without a spec, and every item says what it is", async () => {
  const one = await created("metadata-only", { labels: { "example.com/marked": "" } });
  const options = { label: "example.com/marked" };
  expect(await cluster.list(TEMPLATE, options)).toEqual([one]);
  const { spec: _, ...rest } = one;
  expect(await cluster.list(TEMPLATE, { ...options, metadataOnly: true })).toEqual([rest]);
  expect(await cluster.list(TEMPLATE, { ...options, namespace })).toHaveLength(1);
  expect(await cluster.list(TEMPLATE, { ...options, namespace: "default" })).toEqual([]);
  const namespaces = await cluster.list(NAMESPACE, { metadataOnly: true });
  expect(namespaces.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toContain(`Namespace ${namespace}`);
});

test("a list longer than a page is whole", async () => {
  const count = 1001;
  const names = Array.from({ length: count }, (_, index) => `m${index}`);
  for (let from = 0; from < count; from += 50) {
    await Promise.all(names.slice(from, from + 50).map((name) => cluster.create(made(MACHINE.kind, name))));
  }
  const since = new Date();
  const found = await cluster.list(MACHINE, { metadataOnly: true });
  expect(found.map(({ metadata }) => metadata.name).toSorted()).toEqual(names.toSorted());
  if (controlPlane.own === undefined) return;
  const pages = requestsSince(controlPlane, since).filter(({ objectRef }) => objectRef?.resource === "foomachines");
  expect(pages).toHaveLength(3);
});

test("in a running process a read costs one request, the first discovery two and each later one that shows nothing new one, and none is answered from an older state", async () => {
  if (controlPlane.own === undefined) return;
  const fresh = await kubernetesCluster({ kubeconfig: controlPlane.kubeconfig });
  const one = await created("counted");
  const asked = async (act: () => Promise<unknown>): Promise<readonly string[]> => {
    const since = new Date();
    await act();
    const ours = requestsSince(controlPlane, since).filter(({ userAgent }) => userAgent === "capi-caretaker");
    return ours.map(({ verb, requestURI }) => `${verb} ${requestURI}`).toSorted();
  };
  const path = `/apis/${INFRASTRUCTURE}/v1beta1/namespaces/${namespace}/foomachinetemplates/counted`;
  const group = `/apis/${INFRASTRUCTURE}`;
  // The group prefers v1beta2, which other kinds of it have.
  const versions = [`get ${group}/v1beta1`, `get ${group}/v1beta2`];
  expect(await asked(() => fresh.get(keyOf(one)))).toEqual([`get ${group}`, ...versions, `get ${path}`].toSorted());
  expect(await asked(() => fresh.get(keyOf(one)))).toEqual([`get ${path}`]);
  expect(await asked(() => fresh.get(keyOf(template("not-there"))))).toHaveLength(1);
  expect(await asked(() => fresh.discover())).toEqual([
    "get /apis",
    "list /apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=500",
  ]);
  expect(await asked(() => fresh.discover())).toEqual(["get /apis"]);
  expect(await asked(() => fresh.list(TEMPLATE, { namespace }))).toEqual([
    `list /apis/${INFRASTRUCTURE}/v1beta1/namespaces/${namespace}/foomachinetemplates?limit=500`,
  ]);
});

test("a template created again conflicts with its owner's next apply until its managedFields are given back", async () => {
  const chart = (name: string, labels: Fields): Parameters<typeof controlPlane.api.apply>[0] => ({
    apiVersion: `${INFRASTRUCTURE}/v1beta1`,
    kind: TEMPLATE.kind,
    metadata: { name, namespace, labels: labels as Record<string, string> },
    spec: { image: "http://a" },
  });
  const asHelm = { fieldManager: "helm", force: false };
  const again = async (name: string): Promise<{ before: KubeObject; after: KubeObject }> => {
    const before = KubeObject.parse(await controlPlane.api.apply(chart(name, { "helm.sh/chart": "a-1" }), asHelm));
    await cluster.delete(before);
    const { labels } = before.metadata;
    return { before, after: await created(name, { labels, finalizers: [HOLD] }) };
  };

  await again("not-given-back");
  await expect(
    controlPlane.api.apply(chart("not-given-back", { "helm.sh/chart": "a-2" }), asHelm),
  ).rejects.toMatchObject({ status: 409 });

  const { before, after } = await again("given-back");
  const { managedFields } = before.metadata;
  const given = await cluster.patch(after, { metadata: { managedFields } });
  expect(given?.metadata.managedFields).toEqual(managedFields);
  await controlPlane.api.apply(chart("given-back", { "helm.sh/chart": "a-2" }), asHelm);
  expect((await live(after)).metadata).toMatchObject({ labels: { "helm.sh/chart": "a-2" }, finalizers: [HOLD] });
});

test("an Event stands on its object, once however often it is told", async () => {
  const one = await created("told");
  const node = KubeObject.parse(
    await controlPlane.api.create({ apiVersion: "v1", kind: "Node", metadata: { name: "of-no-namespace" } }),
  );
  const event = { type: "Normal", reason: "TemplateHeld", action: "Hold", note: "ü".repeat(2000) } as const;
  for (const regarding of [one, one, node]) await cluster.record({ regarding, ...event });
  const events = await controlPlane.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" });
  const told = events.filter(({ reason }) => reason === "TemplateHeld");
  expect(told.map(({ metadata, regarding }) => [metadata.namespace, (regarding as Fields).name])).toEqual([
    ["default", "of-no-namespace"],
    [namespace, "told"],
  ]);
  // What `kubectl describe` looks for.
  const selector = `involvedObject.uid=${one.metadata.uid},involvedObject.name=told,involvedObject.namespace=${namespace}`;
  const described = await controlPlane.api.list({ apiVersion: "v1", kind: "Event", fieldSelector: selector });
  expect(described).toMatchObject([{ reason: "TemplateHeld", type: "Normal" }]);
});

test("a kind goes on being read when a version of it goes, is unavailable when none is left, and absent with its definition", async () => {
  const running = await kubernetesCluster({ kubeconfig: controlPlane.kubeconfig });
  const one = await running.create(made(UPGRADED.kind, "c"));
  const key = keyOf(one);
  const serve = async (...served: readonly boolean[]): Promise<void> => {
    const { apiVersion, kind, metadata, spec } = twoVersions(UPGRADED.kind);
    const versions = spec.versions.map((version, index) => ({ ...version, served: served[index] ?? false }));
    await controlPlane.api.apply({ apiVersion, kind, metadata, spec: { ...spec, versions } } as Crd, {
      fieldManager: "e2e-crds",
    });
  };
  const outcome = (asked: Promise<unknown>): Promise<unknown> => asked.catch((error) => error.failure);
  expect((await running.get(key))?.apiVersion).toBe(`${INFRASTRUCTURE}/v1beta2`);

  await serve(true, false);
  await eventually("the newer version to go", async () => {
    const found = await running.get(key).catch(() => "unavailable" as const);
    // Between the two it may be unavailable, but it is never absent.
    expect(found).toBeDefined();
    return found !== "unavailable" && found?.apiVersion.endsWith("/v1beta1");
  });

  await serve(false, false);
  await eventually("both to go", async () => (await outcome(running.get(key))) === "unavailable");
  expect((await running.discover()).hidden).toEqual([{ group: INFRASTRUCTURE, plural: "fooclusters" }]);
  expect(await outcome(running.list(UPGRADED))).toBe("unavailable");

  await serve(true, true);
  await eventually("them to be back", async () => (await outcome(running.list(UPGRADED))) !== "unavailable");
  expect(await running.list(UPGRADED)).toMatchObject([{ metadata: { uid: one.metadata.uid } }]);

  const definition = "fooclusters.infrastructure.cluster.x-k8s.io";
  await controlPlane.api.delete({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    name: definition,
  });
  await eventually("the definition to go", async () => (await outcome(running.get(key))) === undefined);
  expect(await running.list(UPGRADED)).toEqual([]);
});

test("what may not be read is forbidden, never empty", async () => {
  const kubeconfig = await serviceAccountKubeconfig(controlPlane, {
    namespace: "limited",
    name: "reader",
    clusterRole: "system:discovery",
  });
  const templates = ["get", "list", "patch", "create", "delete", "watch"].map(
    (verb) => `${verb} infrastructure.cluster.x-k8s.io/foomachinetemplates`,
  );
  for (const grant of [...templates, "list /namespaces", "list apiextensions.k8s.io/customresourcedefinitions"]) {
    allowRefusal({ account: "limited/reader", grant });
  }
  const limited = await kubernetesCluster({ kubeconfig });
  const one = await created("unseen");
  for (const asked of [
    () => limited.get(keyOf(one)),
    () => limited.list(TEMPLATE),
    () => limited.list(TEMPLATE, { metadataOnly: true }),
    () => limited.list(NAMESPACE),
    () => limited.patch(one, {}),
    () => limited.create(template("unseen-2")),
    () => limited.delete(one),
    () => limited.deleted(keyOf(one), one.metadata.resourceVersion ?? ""),
    () => limited.discover(),
  ]) {
    await expect(asked()).rejects.toMatchObject({ failure: "forbidden" });
  }
  const { url, ca } = controlPlane.server;
  const stranger = await kubernetesCluster({
    kubeconfig: writeKubeconfig(join(controlPlane.folder, "stranger"), { url, ...(ca && { ca }), token: "unknown" }),
  });
  await expect(stranger.list(TEMPLATE)).rejects.toMatchObject({ failure: "forbidden" });
});

test("inside a pod its service account is the login", async () => {
  const kubeconfig = await serviceAccountKubeconfig(controlPlane, { namespace: "caretaker", name: "caretaker" });
  const { url, token } = readKubeconfig(kubeconfig);
  const account = join(controlPlane.folder, "pod", "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(account, { recursive: true });
  writeFileSync(join(account, "token"), token ?? "");
  writeFileSync(join(account, "ca.crt"), controlPlane.server.ca ?? "");
  vi.stubEnv("KUBERNETES_SERVICE_HOST", new URL(url).hostname);
  vi.stubEnv("KUBERNETES_SERVICE_PORT", new URL(url).port);
  onTestFinished(() => void vi.unstubAllEnvs());
  const transport = await createTransport(() => loadLogin(undefined, join(controlPlane.folder, "pod")));
  const review = { method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews" } as const;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const answer = await createRequest(transport)({ ...review, body }, jsonOf);
  expect(answer).toMatchObject({ status: { userInfo: { username: "system:serviceaccount:caretaker:caretaker" } } });
});

test("it checks the server's certificate and shows its own", async () => {
  if (controlPlane.own === undefined) return;
  const file = (name: string): string => readFileSync(join(controlPlane.folder, name), "utf8");
  const [cert, key, ca] = [file("tls.crt"), file("tls.key"), file("apiserver.crt")];
  const shown: string[] = [];
  const server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    shown.push((request.socket as TLSSocket).getPeerCertificate().fingerprint256);
    response.end(JSON.stringify({ kind: "APIGroupDiscoveryList", items: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const on = (name: string, trusted: object): Promise<Cluster> =>
    kubernetesCluster({ kubeconfig: writeKubeconfig(join(controlPlane.folder, name), { url, cert, key, ...trusted }) });

  const nodes = { group: "", kind: "Node" };
  expect(await (await on("trusting", { ca })).list(nodes)).toEqual([]);
  expect(shown).toEqual([expect.stringMatching(/^[0-9A-F:]{95}$/)]);
  await expect((await on("distrusting", {})).list(nodes)).rejects.toMatchObject({ failure: "unavailable" });
  expect(shown).toHaveLength(1);
});

test("a server that goes away is unavailable, and after its return it is read as before", async () => {
  const { own } = controlPlane;
  if (own === undefined) return;
  const one = await created("outlives");
  const gone = await created("gone-before-restart");
  await cluster.delete(gone);
  own.apiServer.kill();
  await own.apiServer.exited;
  await expect(cluster.get(keyOf(one))).rejects.toMatchObject({ failure: "unavailable" });
  await expect(cluster.patch(one, {})).rejects.toMatchObject({ failure: "unavailable" });
  await own.restartApiServer();
  expect(await live(one)).toEqual(one);
  // A server remembers deletions only from its start on.
  await expect(cluster.deleted(keyOf(gone), gone.metadata.resourceVersion ?? "")).rejects.toMatchObject({
    failure: "expired",
  });
});
