import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { ApiError } from "./harness/api.ts";
import { cluster, kubeadmConfigTemplate, machineDeployment, ownedBy } from "./harness/capi-objects.ts";
import { run } from "./harness/command.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { installCrds, providerCrds } from "./harness/crds.ts";
import { type ServedFunction, startFunction } from "./harness/functions.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3Cluster, metal3Machine, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, type Metadata, refOf, valueAt } from "./harness/objects.ts";
import { projectFolder } from "./harness/paths.ts";
import { allowRefusal } from "./harness/refusals.ts";
import { runFolder } from "./harness/run-folder.ts";
import { serviceAccountKubeconfig } from "./harness/service-account.ts";
import { type StandIn, startStandIn } from "./harness/stand-in.ts";
import { eventually } from "./harness/wait.ts";
import { metal3Version, startCaretakers, sweepOf } from "./scenario/caretakers.ts";
import { hold, retiredAt, untilGone, untilHeld } from "./scenario/marks.ts";

const infrastructureGroup = "infrastructure.cluster.x-k8s.io";
const machineKind = { apiVersion: metal3Version, kind: "Metal3Machine" };
const definition = (plural: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: `${plural}.${infrastructureGroup}`,
});

let controlPlane: ControlPlane;
let standIn: StandIn;

/** A held template with some more metadata. */
async function createTemplate(namespace: string, name: string, extra: Partial<Metadata> = {}): Promise<KubeObject> {
  const body = metal3MachineTemplate({ namespace, name, version: "v1beta1" });
  return controlPlane.api.create({ ...body, metadata: { ...body.metadata, finalizers: [hold], ...extra } });
}

/** An infrastructure machine made from a template. */
async function createClone(namespace: string, name: string, template: KubeObject): Promise<KubeObject> {
  const body = metal3Machine(namespace, name, "v1beta1");
  const annotations = {
    "cluster.x-k8s.io/cloned-from-name": template.metadata.name,
    "cluster.x-k8s.io/cloned-from-groupkind": `Metal3MachineTemplate.${infrastructureGroup}`,
  };
  return controlPlane.api.create({ ...body, metadata: { ...body.metadata, annotations } });
}

async function createNamespace(name: string): Promise<void> {
  await controlPlane.api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

async function isThere(object: KubeObject): Promise<boolean> {
  return (await controlPlane.api.get(refOf(object))) !== undefined;
}

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  standIn = startStandIn(controlPlane.api);
});

describe("plan", () => {
  const namespace = "planned";

  async function planOf(args: readonly string[], env: Record<string, string> = {}): Promise<Record<string, unknown[]>> {
    const script = join(projectFolder, "cli", "plan.ts");
    const now = "2026-06-01T12:00:00Z";
    const { code, stdout, stderr } = await run(process.execPath, [script, "--json", "--now", now, ...args], { env });
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Record<string, unknown[]>;
  }

  /** Every object of Cluster API's groups, of Metal3's addresses, the namespaces and the definitions, a file per kind. */
  async function dump(): Promise<string> {
    const { api } = controlPlane;
    const folder = runFolder("dump");
    mkdirSync(folder, { recursive: true });
    const definitions = await api.list({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" });
    const kinds = definitions
      .map(({ spec }) => ({
        apiVersion: `${valueAt(spec, "group")}/${valueAt(spec, "versions", 0, "name")}`,
        kind: String(valueAt(spec, "names", "kind")),
      }))
      .filter(({ apiVersion }) => apiVersion.includes("cluster.x-k8s.io/") || apiVersion.startsWith("ipam.metal3.io/"));
    const core = { apiVersion: "v1", kind: "Namespace" };
    for (const kind of [...kinds, core, { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" }]) {
      const items = await api.list(kind);
      const list = { apiVersion: kind.apiVersion, kind: `${kind.kind}List`, items };
      writeFileSync(join(folder, `${kind.kind}.json`), JSON.stringify(list));
    }
    return folder;
  }

  test("the live cluster and a dump of it -> the same verdicts, missing references and templates that would not move", async () => {
    const { api } = controlPlane;
    await createNamespace(namespace);
    const infrastructure = await api.create(
      metal3Cluster(namespace, "mgmt", { host: "127.0.0.1", port: 6443 }, "v1beta1"),
    );
    const owner = await api.create(cluster("mgmt", infrastructure, { host: "127.0.0.1", port: 6443 }));
    const ownerReferences = [ownedBy(owner)];
    const old = { annotations: { [retiredAt]: "2026-06-01T10:00:00Z" }, ownerReferences };
    const wanted = await createTemplate(namespace, "wanted", old);
    const needed = await createTemplate(namespace, "needed", old);
    await createTemplate(namespace, "unneeded", old);
    await createTemplate(namespace, "unowned");
    await createTemplate(namespace, "unheld", { finalizers: [], ownerReferences });
    const terminating = await createTemplate(namespace, "terminating", { ownerReferences });
    await api.delete(refOf(terminating));
    await createClone(namespace, "one", needed);
    await createClone(namespace, "two", metal3MachineTemplate({ namespace, name: "unowned", version: "v1beta1" }));
    await createClone(namespace, "three", metal3MachineTemplate({ namespace, name: "lost", version: "v1beta1" }));
    const bootstrap = kubeadmConfigTemplate(namespace, "lost-too");
    const options = { namespace, name: "workers", cluster: "mgmt", infrastructure: wanted, bootstrap };
    await api.create(machineDeployment(options));
    // The stand-in's own writes are over once every machine has its finalizer.
    await eventually("the machines to be at rest", async () =>
      (await api.list({ ...machineKind, namespace })).every(({ metadata }) => metadata.finalizers !== undefined),
    );

    const live = await planOf([], { KUBECONFIG: controlPlane.kubeconfig });
    const dumped = await planOf(["--snapshot", await dump()]);

    const sorted = (plan: Record<string, unknown[]>): unknown =>
      Object.fromEntries(
        Object.entries(plan).map(([key, list]) => [key, list.map((one) => JSON.stringify(one)).toSorted()]),
      );
    expect(sorted(dumped)).toEqual(sorted(live));
    const verdicts = (live.decisions ?? []).map((decision) => [
      valueAt(decision, "object", "name"),
      valueAt(decision, "verdict"),
    ]);
    expect(verdicts.toSorted()).toEqual([
      ["needed", "keep"],
      ["terminating", "collect"],
      ["unheld", "hold"],
      ["unneeded", "wait"],
      ["wanted", "renew"],
    ]);
    expect(live.unmoved).toMatchObject([{ name: "unowned" }]);
    expect(live.missing?.map((one) => valueAt(one, "target", "name")).toSorted()).toEqual(["lost", "lost-too"]);
  });
});

describe("story 19: a kind that cannot be read", () => {
  const grace = { env: { COLLECT_GRACE: "PT0S" } };

  test("no version of it is served any more -> nothing is collected until it is served again", async () => {
    const { api } = controlPlane;
    const namespace = "unserved";
    await createNamespace(namespace);
    const needed = await createTemplate(namespace, "needed");
    const clone = await createClone(namespace, "machine", needed);
    await api.delete(refOf(needed));
    const collect = await startFunction("collect-templates", controlPlane, grace);
    await api.jsonPatch(definition("metal3machines"), [
      { op: "replace", path: "/spec/versions/0/served", value: false },
    ]);
    // What a cleaner reads as "there are none".
    await eventually("the machines to be out of sight", async () => {
      const error = await api.list({ ...machineKind, namespace }).catch((reason: unknown) => reason);
      return error instanceof ApiError && error.status === 404;
    });

    const { reply } = await sweepOf(collect);
    expect(reply?.data).toMatchObject({ counts: { "unread-kinds": 1 } });
    expect(JSON.stringify(reply?.data)).not.toContain("collected");
    expect(await isThere(needed)).toBe(true);

    await api.jsonPatch(definition("metal3machines"), [
      { op: "replace", path: "/spec/versions/0/served", value: true },
    ]);
    await eventually("the machines to be seen again", async () => (await api.get(refOf(clone))) !== undefined);
    await sweepOf(collect);
    expect(await isThere(needed)).toBe(true);
    await api.delete(refOf(clone));
    await untilGone(api, [clone]);
    await sweepOf(collect);
    expect(await isThere(needed)).toBe(false);
    await collect.stop();
  });

  test("the function may not list it -> what it may refer to stays, the rest goes, and a right given later is used", async () => {
    const { api } = controlPlane;
    const namespace = "forbidden";
    await createNamespace(namespace);
    const all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    const seen = ["metal3clusters", "metal3machinetemplates", "metal3datatemplates", "metal3datas", "metal3dataclaims"];
    const resources = [...seen, "metal3remediations", "metal3remediationtemplates", "metal3clustertemplates"];
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "nearly-everything" },
      rules: [
        { apiGroups: [""], resources: ["namespaces", "configmaps"], verbs: all },
        { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: all },
        { apiGroups: ["apiextensions.k8s.io"], resources: ["*"], verbs: all },
        {
          apiGroups: ["cluster", "bootstrap.cluster", "controlplane.cluster"].map((group) => `${group}.x-k8s.io`),
          resources: ["*"],
          verbs: all,
        },
        { apiGroups: [infrastructureGroup], resources, verbs: all },
      ],
    };
    await api.apply(role);
    const account = { namespace: "forbidden-owner", name: "caretaker", clusterRole: "nearly-everything" };
    allowRefusal({ account: "forbidden-owner/caretaker", grant: `list ${infrastructureGroup}/metal3machines` });
    const kubeconfig = await serviceAccountKubeconfig(controlPlane, account);
    const collect: ServedFunction = await startFunction("collect-templates", controlPlane, { ...grace, kubeconfig });
    const needed = await createTemplate(namespace, "needed");
    const clone = await createClone(namespace, "machine", needed);
    const unneeded = await createTemplate(namespace, "unneeded");
    const config = kubeadmConfigTemplate(namespace, "unneeded");
    const bootstrap = await api.create({ ...config, metadata: { ...config.metadata, finalizers: [hold] } });
    for (const template of [needed, unneeded, bootstrap]) await api.delete(refOf(template));

    await sweepOf(collect);
    expect(await Promise.all([needed, unneeded, bootstrap].map(isThere))).toEqual([true, true, false]);

    await api.apply({
      ...role,
      rules: [...role.rules, { apiGroups: [infrastructureGroup], resources: ["metal3machines"], verbs: ["list"] }],
    });
    await eventually("the right to be there", async () => {
      await sweepOf(collect);
      return !(await isThere(unneeded));
    });
    expect(await isThere(needed)).toBe(true);
    await api.delete(refOf(clone));
    await untilGone(api, [clone]);
    await sweepOf(collect);
    expect(await isThere(needed)).toBe(false);
    await collect.stop();
  });
});

describe("a provider's kinds are removed while its templates are held", () => {
  const namespace = "removed";
  const removed = ["metal3machines", "metal3machinetemplates"];

  async function removeKinds(): Promise<void> {
    for (const plural of removed) await controlPlane.api.delete(definition(plural));
    await eventually("the machine to be Terminating", async () => {
      const [machine] = await controlPlane.api.list({ ...machineKind, namespace });
      return machine?.metadata.deletionTimestamp !== undefined;
    });
  }

  async function untilKindsAreGone(): Promise<void> {
    for (const plural of removed) {
      await eventually(
        `${plural} to be removed`,
        async () => (await controlPlane.api.get(definition(plural))) === undefined,
      );
    }
  }

  test("without: the template is gone before its machine", async () => {
    const { api } = controlPlane;
    await createNamespace(namespace);
    // Other tests' templates would be let go by nobody now.
    for (const template of await api.list({ apiVersion: metal3Version, kind: "Metal3MachineTemplate" })) {
      await api.mergePatch(refOf(template), { metadata: { finalizers: [] } });
    }
    const template = await createTemplate(namespace, "workers", { finalizers: [] });
    await createClone(namespace, "machine", template);
    standIn.holdDeletions();
    await removeKinds();
    await untilGone(api, [template]);
    expect(await api.list({ ...machineKind, namespace })).toHaveLength(1);
    standIn.release();
    await untilKindsAreGone();
    await installCrds(
      api,
      providerCrds().filter(({ metadata }) => removed.some((plural) => metadata.name.startsWith(`${plural}.`))),
    );
  });

  test("with: the template outlives its machine, and the kinds are gone as soon as both are", async () => {
    const { api } = controlPlane;
    const { collect, relay } = await startCaretakers(controlPlane);
    const used = await createTemplate(namespace, "used", { finalizers: [] });
    const unused = await createTemplate(namespace, "unused", { finalizers: [] });
    await createClone(namespace, "machine", used);
    await untilHeld(api, used, unused);
    standIn.holdDeletions();
    await removeKinds();
    await untilGone(api, [unused]);
    expect(await isThere(used)).toBe(true);
    expect(await api.get(definition("metal3machinetemplates"))).toBeDefined();
    standIn.release();
    await untilKindsAreGone();
    // From now on the kind has no objects, which stops nothing.
    await relay.idle();
    await sweepOf(collect);
    expect(collect.ended()).toBeUndefined();
  });
});
