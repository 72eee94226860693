import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { bootstrapVersion, controlPlaneVersion, kubeadmConfigTemplate } from "./harness/capi-objects.ts";
import { type Outcome, run } from "./harness/command.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { helm, writeChart } from "./harness/helm.ts";
import { kustomized } from "./harness/kustomize.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3Machine, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type Fields, type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { projectFolder } from "./harness/paths.ts";
import { eventually } from "./harness/wait.ts";
import { metal3Version } from "./scenario/caretakers.ts";
import { hold } from "./scenario/marks.ts";

const namespace = "sylva";
/** Without the braces of the usual node name, which Helm would take for its own. */
const joining = { joinConfiguration: { nodeRegistration: { criSocket: "unix:///run/containerd/containerd.sock" } } };
let controlPlane: ControlPlane;
/** From before the policy. */
let older: KubeObject;

const template = (name: string, metadata: Fields = {}): KubeObject => {
  const one = metal3MachineTemplate({ namespace, name, version: "v1beta1" });
  return { ...one, metadata: { ...one.metadata, ...metadata } };
};
const annotated = (name: string, annotation: string, value = ""): KubeObject =>
  template(name, { annotations: { [annotation]: value } });

async function finalizersOf(object: KubeObject): Promise<readonly string[]> {
  const found = await controlPlane.api.get(refOf(object));
  if (found === undefined) throw new Error(`${object.metadata.name} is not there`);
  return found.metadata.finalizers ?? [];
}

/** The policy and its binding, as the overlay has them. */
function policy(): KubeObject[] {
  const objects = kustomized("overlays/hold-at-creation") as readonly KubeObject[];
  return objects.filter(({ kind }) => kind.startsWith("MutatingAdmissionPolicy"));
}

/** Whether the API server puts a hold on a template that is created now; nothing is stored. */
async function isAtWork(): Promise<boolean> {
  const { status, body } = await controlPlane.api.raw({
    method: "POST",
    path: `/apis/${metal3Version}/namespaces/${namespace}/metal3machinetemplates?dryRun=All`,
    body: JSON.stringify(template("probe")),
  });
  if (status !== 201) throw new Error(`a template is answered with ${status}: ${body}`);
  const finalizers = valueAt(JSON.parse(body), "metadata", "finalizers");
  return Array.isArray(finalizers) && finalizers.includes(hold);
}

/** A chart of a machine and a config template of these names, and what it is made of. */
function chartOf(name: string, version: string, imageUrl: string) {
  const objects = [
    metal3MachineTemplate({ namespace, name, version: "v1beta1", imageUrl }),
    kubeadmConfigTemplate(namespace, name, joining),
  ].map((one) => ({ ...one, metadata: { ...one.metadata, labels: { "helm.sh/chart": `${name}-${version}` } } }));
  const text = objects.map((one) => stringify(one)).join("---\n");
  return { objects, path: writeChart({ name, version, templates: { "all.yaml": text } }) };
}

async function succeeds(outcome: Promise<Outcome>): Promise<void> {
  const { code, stderr } = await outcome;
  if (code !== 0) throw new Error(`ended with ${code}: ${stderr}`);
}

function release(): Promise<Outcome> {
  const env = { KUBECONFIG: controlPlane.kubeconfig };
  return run(process.execPath, [`${projectFolder}/cli/release.ts`, "--all"], { env });
}

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  const { api } = controlPlane;
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  older = await api.create(template("older"));
  expect([await isAtWork(), await finalizersOf(older)]).toEqual([false, []]);
  for (const object of policy()) await api.apply(object);
  await eventually("the policy to be at work", isAtWork);
});

describe.each([3, 4] as const)("Helm %i, and no function runs", (major) => {
  const name = `helm${major}`;
  const on = (verb: string, path: string) =>
    succeeds(helm(major, controlPlane, [verb, name, path, "--namespace", namespace]));

  test("a chart with templates -> each is held at once, upgrades find no conflict and leave the hold", async () => {
    const first = chartOf(name, "0.1.0", "http://172.22.0.1/images/a.qcow2");
    await on("install", first.path);
    const held = [[hold], [hold]];
    expect(await Promise.all(first.objects.map(finalizersOf))).toEqual(held);

    const second = chartOf(name, "0.2.0", "http://172.22.0.1/images/b.qcow2");
    await on("upgrade", second.path);
    await on("upgrade", second.path);
    expect(await Promise.all(first.objects.map(finalizersOf))).toEqual(held);
    const [machines] = first.objects;
    const live = machines && (await controlPlane.api.get(refOf(machines)));
    expect(valueAt(live, "metadata", "labels", "helm.sh/chart")).toBe(`${name}-0.2.0`);
    expect(valueAt(live, "spec", "template", "spec", "image", "url")).toBe("http://172.22.0.1/images/b.qcow2");
  });
});

describe("who gets a hold", () => {
  const cloned = { "cluster.x-k8s.io/cloned-from-name": "t" };
  const machine = metal3Machine(namespace, "machine", "v1beta1");
  const podTemplate: KubeObject = {
    apiVersion: "v1",
    kind: "PodTemplate",
    metadata: { name: "pods", namespace },
    template: { spec: { containers: [{ name: "c", image: "i" }] } },
  };
  const controlPlaneTemplate: KubeObject = {
    apiVersion: controlPlaneVersion,
    kind: "KubeadmControlPlaneTemplate",
    metadata: { name: "cp", namespace },
    spec: { template: { spec: { kubeadmConfigSpec: joining } } },
  };

  test.each<readonly [situation: string, finalizers: readonly string[], object: KubeObject]>([
    ["an infrastructure template", [hold], template("plain")],
    ["a bootstrap template", [hold], kubeadmConfigTemplate(namespace, "bootstrap", joining)],
    ["a control plane template", [hold], controlPlaneTemplate],
    [
      "one with another finalizer",
      ["example.com/theirs", hold],
      template("shared", { finalizers: ["example.com/theirs"] }),
    ],
    ["one that holds already", [hold], template("held", { finalizers: [hold] })],
    ["one that is not opted out", [hold], annotated("opted-in", "capi-caretaker.io/retain", "true")],
    [
      "one with labels and annotations of others",
      [hold],
      template("many", { labels: { a: "b" }, annotations: { a: "b" } }),
    ],
    ["one that is opted out", [], annotated("opted-out", "capi-caretaker.io/retain", "false")],
    ["one of a topology", [], template("owned", { labels: { "topology.cluster.x-k8s.io/owned": "" } })],
    ["one that Argo CD tracks", [], annotated("tracked", "argocd.argoproj.io/tracking-id", "app:g/K:n/tracked")],
    ["one that leaves for a move", [], annotated("leaving", "clusterctl.cluster.x-k8s.io/delete-for-move")],
    ["a machine", [], { ...machine, metadata: { ...machine.metadata, annotations: cloned } }],
    ["a template of other groups", [], podTemplate],
  ])("%s -> finalizers %j", async (_, finalizers, object) => {
    const created = await controlPlane.api.create(object);
    expect(created.metadata.finalizers ?? []).toEqual(finalizers);
  });

  test("one that is applied by its owner -> the hold, and none of its owner's fields", async () => {
    const applied = template("applied");
    await controlPlane.api.apply(applied, { fieldManager: "gitops", force: false });
    const again = await controlPlane.api.apply(
      { ...applied, metadata: { ...applied.metadata, labels: { again: "" } } },
      { fieldManager: "gitops", force: false },
    );
    expect(again.metadata.finalizers).toEqual([hold]);
    const owned = again.metadata.managedFields?.find((entry) => entry.manager === "gitops");
    expect(JSON.stringify(owned)).not.toContain("f:finalizers");
  });

  test("one that is older than the policy -> none at an update: that is for retain-templates", async () => {
    await controlPlane.api.mergePatch(refOf(older), { metadata: { labels: { touched: "" } } });
    expect(await finalizersOf(older)).toEqual([]);
  });

  test.each([
    ["bootstrap", bootstrapVersion],
    ["infrastructure", metal3Version],
  ])(
    "a deletion asked for in the moment after a %s template was created -> waits for the hold",
    async (_, apiVersion) => {
      const { api } = controlPlane;
      const brief =
        apiVersion === metal3Version ? template("brief") : kubeadmConfigTemplate(namespace, "brief", joining);
      await api.create(brief);
      await api.delete(refOf(brief));
      const live = await api.get(refOf(brief));
      expect([live?.metadata.finalizers, live?.metadata.deletionTimestamp]).toEqual([[hold], expect.any(String)]);
    },
  );
});

test("release -> refuses while the policy stands and changes nothing; without it, takes every hold, and none comes back", async () => {
  const { api } = controlPlane;
  const refused = await release();
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("MutatingAdmissionPolicy hold-at-creation.capi-caretaker.io");
  expect(await finalizersOf(template("plain"))).toEqual([hold]);

  for (const object of policy()) await api.delete(refOf(object));
  await eventually("the policy to be out of work", async () => !(await isAtWork()));
  const released = await release();
  expect(released, released.stderr).toMatchObject({ code: 0 });
  const left = await api.list({ apiVersion: metal3Version, kind: "Metal3MachineTemplate" });
  expect(left.length).toBeGreaterThan(5);
  expect(left.filter(({ metadata }) => metadata.finalizers?.includes(hold))).toEqual([]);
  expect(await api.get(refOf(template("brief")))).toBeUndefined();
  expect((await api.create(template("after"))).metadata.finalizers).toBeUndefined();
});
