import { beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "./harness/control-plane.ts";
import {
  driftOf,
  type FluxOwner,
  helmReleaseVersion,
  installFluxKinds,
  kustomizationVersion,
  reconcile,
  recordRelease,
} from "./harness/flux.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3Machine, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type Fields, type KubeObject, type ObjectRef, refOf } from "./harness/objects.ts";
import { type Caretakers, startCaretakers } from "./scenario/caretakers.ts";
import { isHeld, untilGone, untilHeld } from "./scenario/marks.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import { letReadRecords } from "./scenario/record-rights.ts";
import { imageUrlOf, jsonMark, notesOn, rewriteContested, startRewriter } from "./scenario/rewriter.ts";
import { isRetired } from "./scenario/settled.ts";

let controlPlane: ControlPlane;
let caretakers: Caretakers;

const hurried = { COLLECT_GRACE: "PT1S", RENEW_AFTER: "PT1S" };
const byRecord = { ...hurried, RETIRE_ORPHANS: "flux" };

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  await installFluxKinds(controlPlane);
  await letReadRecords(controlPlane.api, "records-flux");
  caretakers = await startCaretakers(controlPlane, { env: byRecord });
});

const templateOf = (namespace: string, name: string, annotations: Record<string, string> = {}): KubeObject => {
  const made = metal3MachineTemplate({ namespace, name, version: "v1beta1" });
  return { ...made, metadata: { ...made.metadata, annotations } };
};

async function liveOf(template: KubeObject): Promise<KubeObject> {
  const live = await controlPlane.api.get(refOf(template));
  if (live === undefined) throw new Error(`${template.metadata.name} is not there`);
  return live;
}

/** A namespace of its own with one of Flux's objects, which deploys into it. */
async function owned(namespace: string, apiVersion: string, kind: string): Promise<FluxOwner> {
  const { api } = controlPlane;
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await api.apply({ apiVersion, kind, metadata: { name: "workers", namespace }, spec: { prune: true } });
  return { namespace, name: "workers" };
}
const kustomization = (namespace: string) => owned(namespace, kustomizationVersion, "Kustomization");
const release = (namespace: string) => owned(namespace, helmReleaseVersion, "HelmRelease");

/** A template as Helm deploys it for a HelmRelease. */
function ofRelease(template: KubeObject): KubeObject {
  const { namespace = "", ...metadata } = template.metadata;
  const labels = {
    "app.kubernetes.io/managed-by": "Helm",
    "helm.toolkit.fluxcd.io/name": "workers",
    "helm.toolkit.fluxcd.io/namespace": namespace,
  };
  const annotations = { "meta.helm.sh/release-name": "workers", "meta.helm.sh/release-namespace": namespace };
  return { ...template, metadata: { ...metadata, namespace, labels, annotations } };
}

const manifestOf = (...templates: readonly KubeObject[]) => templates.map((one) => JSON.stringify(one)).join("\n---\n");

/** A machine that was made from a template. */
async function machineFrom({ metadata: { namespace = "", name } }: KubeObject): Promise<KubeObject> {
  const made = metal3Machine(namespace, `of-${name}`, "v1beta1");
  const annotations = {
    "cluster.x-k8s.io/cloned-from-name": name,
    "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
  };
  return controlPlane.api.apply({ ...made, metadata: { ...made.metadata, annotations } });
}

function untilRetired(template: KubeObject, expected: boolean): Promise<boolean> {
  return inTime(`${template.metadata.name} to be ${expected ? "" : "un"}retired`, async () => {
    await caretakers.sweep();
    return isRetired(await liveOf(template)) === expected;
  });
}

function untilCollected(template: KubeObject): Promise<boolean> {
  return inTime(`${template.metadata.name} to be collected`, async () => {
    await caretakers.sweep();
    return (await controlPlane.api.get(refOf(template))) === undefined;
  });
}

/** Sweeps often enough to retire a template, to start its grace period and to end it. */
async function sweepRepeatedly(): Promise<void> {
  for (let sweeps = 0; sweeps < 3; sweeps += 1) {
    const started = Date.now();
    await caretakers.sweep();
    await inTime("the grace period to pass", () => Date.now() - started > 1500);
  }
}

/** What kustomize-controller puts on all that it deploys, and leaves on what it may not prune. */
const labelsOf = ({ namespace, name }: FluxOwner) => ({
  "kustomize.toolkit.fluxcd.io/name": name,
  "kustomize.toolkit.fluxcd.io/namespace": namespace,
});
const notPruned = { "kustomize.toolkit.fluxcd.io/prune": "disabled" };

describe("kustomize-controller's engine", unhurried, () => {
  test("applies again what carries our marks -> unchanged, and the marks stay", async () => {
    const owner = await kustomization("again");
    const t = templateOf("again", "t");
    expect((await reconcile(controlPlane, owner, [t])).applied).toEqual({ "Metal3MachineTemplate/t": "created" });
    await untilHeld(controlPlane.api, t);
    const before = await liveOf(t);
    expect((await reconcile(controlPlane, owner, [t])).applied).toEqual({ "Metal3MachineTemplate/t": "unchanged" });
    expect(await liveOf(t)).toEqual(before);
  });

  test("prunes a template that a machine needs -> it does not wait; held until the machine is gone, then gone", async () => {
    const owner = await kustomization("pruned");
    const [t, u] = [templateOf("pruned", "t"), templateOf("pruned", "u")];
    await reconcile(controlPlane, owner, [t]);
    await untilHeld(controlPlane.api, t);
    const machine = await machineFrom(t);
    expect((await reconcile(controlPlane, owner, [u])).pruned).toEqual({ "Metal3MachineTemplate/t": "deleted" });
    await sweepRepeatedly();
    const live = await liveOf(t);
    expect([live.metadata.deletionTimestamp !== undefined, isHeld(live)]).toEqual([true, true]);
    expect((await reconcile(controlPlane, owner, [u])).pruned).toEqual({});
    await controlPlane.api.delete(refOf(machine));
    await untilGone(controlPlane.api, [t]);
    expect(isRetired(await liveOf(u))).toBe(false);
  });

  test("leaves out of its inventory what it may not prune -> retired, kept while needed, then collected", async () => {
    const owner = await kustomization("kept");
    const [t, u] = [templateOf("kept", "t", notPruned), templateOf("kept", "u", notPruned)];
    await reconcile(controlPlane, owner, [t]);
    await untilHeld(controlPlane.api, t);
    const machine = await machineFrom(t);
    expect((await reconcile(controlPlane, owner, [u])).pruned).toEqual({ "Metal3MachineTemplate/t": "skipped" });
    await untilRetired(t, true);
    const { uid } = (await liveOf(t)).metadata;
    await sweepRepeatedly();
    const { metadata } = await liveOf(t);
    expect([metadata.uid, metadata.deletionTimestamp]).toEqual([uid, undefined]);
    expect(metadata.labels).toMatchObject(labelsOf(owner));
    await controlPlane.api.delete(refOf(machine));
    await untilCollected(t);
    expect(isRetired(await liveOf(u))).toBe(false);
  });

  test("lists again what was retired -> unretired, the same object, and it stays", async () => {
    const owner = await kustomization("back");
    const [t, u] = [templateOf("back", "t", notPruned), templateOf("back", "u", notPruned)];
    await reconcile(controlPlane, owner, [t]);
    await untilHeld(controlPlane.api, t);
    const machine = await machineFrom(t);
    await reconcile(controlPlane, owner, [u]);
    await untilRetired(t, true);
    const { uid } = (await liveOf(t)).metadata;
    expect((await reconcile(controlPlane, owner, [t, u])).applied).toMatchObject({
      "Metal3MachineTemplate/t": "unchanged",
    });
    await untilRetired(t, false);
    await controlPlane.api.delete(refOf(machine));
    await sweepRepeatedly();
    const live = await liveOf(t);
    expect([live.metadata.uid, isHeld(live), isRetired(live)]).toEqual([uid, true, false]);
  });

  test("fails to apply -> its inventory is the former one, nothing is retired; it succeeds -> what it no longer lists is", async () => {
    const owner = await kustomization("failing");
    const t = templateOf("failing", "t", notPruned);
    await reconcile(controlPlane, owner, [t]);
    await untilHeld(controlPlane.api, t);
    const refused = templateOf("failing", "NOT-A-NAME");
    await expect(reconcile(controlPlane, owner, [refused])).rejects.toThrow("NOT-A-NAME");
    await sweepRepeatedly();
    expect(isRetired(await liveOf(t))).toBe(false);
    await machineFrom(t);
    await reconcile(controlPlane, owner, []);
    await untilRetired(t, true);
  });
});

describe("kustomize-controller's engine and rewrite-urls", unhurried, () => {
  test("puts the old URL back at each reconciliation -> contested after three, told once, and left alone", async () => {
    const [from, to] = ["http://127.0.0.1:9/old/", "http://127.0.0.1:9/new/"];
    const rewriter = await startRewriter(controlPlane, [{ from, to, check: "none" }]);
    const owner = await kustomization("contested");
    const imageUrl = `${from}node.qcow2`;
    const template = metal3MachineTemplate({ namespace: "contested", name: "t", version: "v1beta1", imageUrl });
    await reconcile(controlPlane, owner, [template]);
    const isContested = (live: KubeObject): boolean => jsonMark(live, rewriteContested)?.stoppedAt !== undefined;
    let reverts = 0;
    await inTime("the rewrite to be given up", async () => {
      const live = await liveOf(template);
      if (isContested(live)) return true;
      if (imageUrlOf(live) !== `${to}node.qcow2`) return false;
      await rewriter.idle();
      const { applied } = await reconcile(controlPlane, owner, [template]);
      expect(applied).toEqual({ "Metal3MachineTemplate/t": "configured" });
      reverts += 1;
      return false;
    });
    const contested = await liveOf(template);
    expect([reverts, imageUrlOf(contested)]).toEqual([3, imageUrl]);
    expect(jsonMark(contested, rewriteContested)).toMatchObject({ by: "kustomize-controller" });
    expect(await notesOn(controlPlane.api, contested, "RewriteContested")).toHaveLength(1);

    await rewriter.idle();
    await rewriter.sweep();
    expect((await reconcile(controlPlane, owner, [template])).applied).toEqual({
      "Metal3MachineTemplate/t": "unchanged",
    });
    expect((await liveOf(template)).metadata.resourceVersion).toBe(contested.metadata.resourceVersion);
  });
});

describe("helm-controller's engine", unhurried, () => {
  test("looks for drift on a template that is held and retired -> none", async () => {
    const owner = await release("drift");
    const t = ofRelease(templateOf("drift", "t"));
    await controlPlane.api.apply(t);
    await untilHeld(controlPlane.api, t);
    expect(await driftOf(controlPlane, owner, manifestOf(t))).toEqual([]);
    await recordRelease(controlPlane, owner, manifestOf());
    await machineFrom(t);
    await untilRetired(t, true);
    expect(await driftOf(controlPlane, owner, manifestOf(t))).toEqual([]);
    const changed = { ...t, spec: { ...(t.spec as object), nodeReuse: false } };
    expect(await driftOf(controlPlane, owner, manifestOf(changed))).toMatchObject([{ type: "update" }]);
  });

  test("no longer lists a template -> retired, kept while needed, then collected; the listed one stays", async () => {
    const owner = await release("released");
    const [t, u] = [ofRelease(templateOf("released", "t")), ofRelease(templateOf("released", "u"))];
    for (const one of [t, u]) await controlPlane.api.apply(one);
    await untilHeld(controlPlane.api, t, u);
    const machine = await machineFrom(t);
    const { uid } = (await liveOf(t)).metadata;
    await recordRelease(controlPlane, owner, manifestOf(u));
    await untilRetired(t, true);
    await sweepRepeatedly();
    const { metadata } = await liveOf(t);
    expect([metadata.uid, metadata.deletionTimestamp]).toEqual([uid, undefined]);
    await controlPlane.api.delete(refOf(machine));
    await untilCollected(t);
    expect(isRetired(await liveOf(u))).toBe(false);
  });
});

interface Deployed {
  owner: ObjectRef;
  template: KubeObject;
}

/** A held template that a Kustomization lists. */
async function byKustomization(namespace: string): Promise<Deployed> {
  const owner = await kustomization(namespace);
  const template = templateOf(namespace, "t", notPruned);
  await reconcile(controlPlane, owner, [template]);
  await untilHeld(controlPlane.api, template);
  return { owner: { apiVersion: kustomizationVersion, kind: "Kustomization", ...owner }, template };
}

/** A held template that a HelmRelease lists. */
async function byHelmRelease(namespace: string): Promise<Deployed> {
  const owner = await release(namespace);
  const template = ofRelease(templateOf(namespace, "t"));
  await controlPlane.api.apply(template);
  await recordRelease(controlPlane, owner, manifestOf(template));
  await untilHeld(controlPlane.api, template);
  return { owner: { apiVersion: helmReleaseVersion, kind: "HelmRelease", ...owner }, template };
}

const readyIs = (status: string): Fields => ({ conditions: [{ type: "Ready", status }] });
const emptied: Fields = { inventory: { entries: [] } };

/** Changes what Flux's object says of itself, `spec` by a person and `status` by its controller. */
async function say({ owner }: Deployed, said: { spec?: Fields; status?: Fields }): Promise<void> {
  const { spec, status } = said;
  if (spec !== undefined) await controlPlane.api.mergePatch(owner, { spec });
  if (status !== undefined) await controlPlane.api.patchStatus(owner, status);
}

/** Flux has done all that its object asks for, which is to deploy here unless `spec` says otherwise. */
async function saySettled({ owner }: Deployed, spec: Fields = { suspend: false, kubeConfig: null }): Promise<void> {
  const { metadata } = await controlPlane.api.mergePatch(owner, { spec });
  await controlPlane.api.patchStatus(owner, { ...readyIs("True"), observedGeneration: metadata.generation });
}

describe("an inventory that no longer lists a template", unhurried, () => {
  test.each<readonly [situation: string, deploy: typeof byKustomization, said: { spec?: Fields; status?: Fields }]>([
    ["health checks failed", byKustomization, { status: readyIs("False") }],
    ["it is being applied", byKustomization, { status: readyIs("Unknown") }],
    ["the spec was changed since", byKustomization, { spec: { interval: "2m" } }],
    ["an upgrade failed", byHelmRelease, { status: readyIs("False") }],
  ])("%s -> not retired; settled -> retired", async (situation, deploy, said) => {
    const deployed = await deploy(`unsettled-${situation.replaceAll(" ", "-")}`);
    await machineFrom(deployed.template);
    await say(deployed, said);
    await say(deployed, { status: emptied });
    await sweepRepeatedly();
    expect(isRetired(await liveOf(deployed.template))).toBe(false);
    await saySettled(deployed);
    await untilRetired(deployed.template, true);
  });

  test.each<readonly [situation: string, deploy: typeof byKustomization, spec: Fields]>([
    ["it is suspended", byKustomization, { suspend: true }],
    ["a Kustomization deploys to another cluster", byKustomization, { kubeConfig: { secretRef: { name: "there" } } }],
    ["a HelmRelease deploys to another cluster", byHelmRelease, { kubeConfig: { secretRef: { name: "there" } } }],
  ])("%s, Ready for its generation -> not retired; no longer -> retired", async (situation, deploy, spec) => {
    const deployed = await deploy(`ready-${situation.toLowerCase().replaceAll(" ", "-")}`);
    await machineFrom(deployed.template);
    await saySettled(deployed, spec);
    await say(deployed, { status: emptied });
    await sweepRepeatedly();
    expect(isRetired(await liveOf(deployed.template))).toBe(false);
    await saySettled(deployed);
    await untilRetired(deployed.template, true);
  });

  test.each([
    ["Kustomization", byKustomization],
    ["HelmRelease", byHelmRelease],
  ] as const)("retired it, and then the %s fails -> it is not deleted; settled -> collected", async (kind, deploy) => {
    const deployed = await deploy(`failing-later-${kind.toLowerCase()}`);
    const machine = await machineFrom(deployed.template);
    await say(deployed, { status: emptied });
    await untilRetired(deployed.template, true);
    const { uid } = (await liveOf(deployed.template)).metadata;
    await say(deployed, { status: readyIs("False") });
    await controlPlane.api.delete(refOf(machine));
    await sweepRepeatedly();
    const { metadata } = await liveOf(deployed.template);
    expect([metadata.uid, metadata.deletionTimestamp]).toEqual([uid, undefined]);
    await saySettled(deployed);
    await untilCollected(deployed.template);
  });
});

describe("without RETIRE_ORPHANS", unhurried, () => {
  test("an unneeded template left the inventory -> it stays, not retired; the setting is made -> collected", async () => {
    await caretakers.remove();
    caretakers = await startCaretakers(controlPlane, { env: hurried });
    const owner = await kustomization("unset");
    const [t, u] = [templateOf("unset", "t", notPruned), templateOf("unset", "u", notPruned)];
    await reconcile(controlPlane, owner, [t]);
    await untilHeld(controlPlane.api, t);
    expect((await reconcile(controlPlane, owner, [u])).pruned).toEqual({ "Metal3MachineTemplate/t": "skipped" });
    await sweepRepeatedly();
    expect(isRetired(await liveOf(t))).toBe(false);
    await caretakers.remove();
    caretakers = await startCaretakers(controlPlane, { env: byRecord });
    await untilCollected(t);
    expect(isRetired(await liveOf(u))).toBe(false);
  });
});
