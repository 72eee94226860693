import { describe, expect, test } from "vitest";
import { handle } from "../../functions/label-machines/index.ts";
import { ADOPT, ADOPTION_REFUSED, ALLOW_ROLLOUT, CONTROL_PLANE_LABEL } from "../../functions/label-machines/marks.ts";
import { templateSpecOf } from "../../functions/label-machines/prepare/per-machine-fields.ts";
import { survey } from "../../functions/label-machines/survey/survey.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import { annotation, CLONED_FROM_NAME, label, PAUSED } from "../../shared/marks/marks.ts";
import { CONTROL_PLANE, CORE, INFRASTRUCTURE } from "../../shared/objects/kinds.ts";
import type { KubeObject, ObjectKey } from "../../shared/objects/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import { annotated, clonedFrom, NOON, object, ownedBy } from "../build/objects.ts";
import {
  changed,
  cluster,
  config,
  infraMachine,
  infraTemplate,
  kcp,
  machine,
  NAMES,
  replaced,
  SERVICE_ACCOUNT,
  secrets,
  withExistence,
  without,
  world,
} from "./build.ts";

const bare = annotated(changed(cluster, { spec: { controlPlaneRef: null } }), { [ADOPT]: "true" });
const all = replaced(without(world(), kcp, infraTemplate), bare);
const NAME = "mgmt-control-plane";
const WRITTEN: ObjectKey = { group: CONTROL_PLANE, kind: "KubeadmControlPlane", namespace: "sylva", name: NAME };
const TEMPLATE: ObjectKey = { group: INFRASTRUCTURE, kind: "Metal3MachineTemplate", namespace: "sylva", name: NAME };

function start(objects: readonly KubeObject[], wrap: (inner: Cluster) => Cluster = (inner) => inner): Bench {
  return bench(objects, {}, (inner) => wrap(withExistence(inner)));
}

async function labelsOf(on: Bench): Promise<readonly boolean[]> {
  const live = await Promise.all(NAMES.flatMap((name) => [on.live(machine(name)), on.live(config(name))]));
  return live.map((one) => label(one, CONTROL_PLANE_LABEL) !== undefined);
}

describe("a Cluster without a control plane", () => {
  test("three single machines -> a control plane that would make them again, and their adoption begins", async () => {
    const on = start(all);
    const { acts } = await on.send(handle, "update", bare);
    expect(acts[0]).toMatchObject({ noun: "control-plane", done: "created", object: WRITTEN });
    expect(await labelsOf(on)).toEqual(NAMES.flatMap(() => [true, true]));
    expect(annotation(await on.live(WRITTEN), PAUSED)).toBeUndefined();
  });

  test("written -> paused from its first moment, owned by the Cluster and named by it", async () => {
    const on = start(all);
    await on.send(handle, "update", bare);
    const [first] = on.changes.filter(({ type, object: one }) => type === "add" && one.kind === WRITTEN.kind);
    expect(first?.object).toMatchObject({
      metadata: {
        annotations: { [PAUSED]: "true", [ADOPT]: "true" },
        ownerReferences: [{ kind: "Cluster", name: "mgmt", controller: true }],
      },
      spec: { replicas: 3, version: "v1.33.1" },
    });
    const owner = await on.live(cluster);
    expect(owner).toMatchObject({
      spec: { controlPlaneRef: { apiGroup: CONTROL_PLANE, kind: "KubeadmControlPlane", name: NAME } },
    });
    expect(annotation(owner, ADOPT)).toBeUndefined();
  });

  test("written -> the template holds what the machines share, and nothing of one machine alone", async () => {
    const on = start(all);
    await on.send(handle, "update", bare);
    expect(await on.live(TEMPLATE)).toMatchObject({
      metadata: { ownerReferences: [{ kind: "Cluster", name: "mgmt" }] },
      spec: { template: { spec: { image: { url: "http://10.0.0.1/os.qcow2" } } } },
    });
    expect(JSON.stringify((await on.live(TEMPLATE)).spec)).not.toContain("metal3://");
  });

  test("written -> no token and no endpoint in its config", async () => {
    const on = start(all);
    await on.send(handle, "update", bare);
    const written = JSON.stringify((await on.live(WRITTEN)).spec);
    expect(written).not.toMatch(/secret|6443/);
    expect(written).toContain("swapoff");
  });

  test("a Cluster of v1beta1 -> named in that version's shape", async () => {
    const old = { ...changed(bare, { status: { infrastructureReady: true } }), apiVersion: `${CORE}/v1beta1` };
    const on = start(replaced(all, old));
    await on.send(handle, "update", old);
    expect(await on.live(cluster)).toMatchObject({
      spec: {
        controlPlaneRef: {
          apiVersion: `${CONTROL_PLANE}/v1beta2`,
          kind: "KubeadmControlPlane",
          namespace: "sylva",
          name: NAME,
        },
      },
    });
  });

  test("machines cloned from a template that stands -> that one is named, none is written", async () => {
    const on = start([
      ...replaced(all, ...NAMES.map((name) => clonedFrom(infraMachine(name), infraTemplate))),
      infraTemplate,
    ]);
    await on.send(handle, "update", bare);
    expect(await on.live(WRITTEN)).toMatchObject({
      spec: { machineTemplate: { spec: { infrastructureRef: { name: "mgmt-cp" } } } },
    });
    expect(await on.has(TEMPLATE)).toBe(false);
  });

  test("machines cloned from a template that is gone -> it is written under its name", async () => {
    const on = start(replaced(all, ...NAMES.map((name) => clonedFrom(infraMachine(name), infraTemplate))));
    await on.send(handle, "update", bare);
    expect(await on.has(infraTemplate)).toBe(true);
    expect(await labelsOf(on)).not.toContain(false);
  });

  test("the configuration in no config, a ConfigMap given -> taken from there", async () => {
    const configs = NAMES.map((name) => changed(config(name), { spec: { clusterConfiguration: null } }));
    const text =
      "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.33.1\ncertificatesDir: /pki\n";
    const given = object("ConfigMap.v1", "mgmt-kubeadm-config", { data: { ClusterConfiguration: text } });
    const allowed = annotated(bare, { [ALLOW_ROLLOUT]: "true" });
    const on = start([...replaced(all, allowed, ...configs), given]);
    await on.send(handle, "update", allowed);
    expect(await on.live(WRITTEN)).toMatchObject({
      spec: { kubeadmConfigSpec: { clusterConfiguration: { certificatesDir: "/pki" } } },
    });
    expect(JSON.stringify((await on.live(WRITTEN)).spec)).not.toContain("kubernetesVersion");
  });
});

/** A cluster whose ConfigMaps may not be read. */
function withoutConfigMaps(inner: Cluster): Cluster {
  const get: Cluster["get"] = async (key) => {
    if (key.kind === "ConfigMap") throw new ClusterError("forbidden", "configmaps is forbidden");
    return inner.get(key);
  };
  return { ...inner, get };
}

describe("where no ConfigMap may be read", () => {
  test("the configuration in a config -> none is asked for", async () => {
    const on = start(all, withoutConfigMaps);
    await on.send(handle, "update", bare);
    expect(await on.has(WRITTEN)).toBe(true);
  });

  test("the configuration in no config -> refused with the command that lets the one be read", async () => {
    const configs = NAMES.map((name) => changed(config(name), { spec: { clusterConfiguration: null } }));
    const on = start(replaced(all, ...configs), withoutConfigMaps);
    const { cluster: api } = on.context;
    const [surveyed] = await survey(api, NOON, SERVICE_ACCOUNT);
    const said = JSON.stringify(surveyed?.decision);
    expect(said).toContain("cluster-configuration-unreadable");
    expect(said).toContain(
      "kubectl -n sylva create role capi-caretaker-mgmt-config --verb=get --resource=configmaps --resource-name=mgmt-kubeadm-config",
    );
  });
});

describe("refused, and nothing written", () => {
  const noConfiguration = NAMES.map((name) => changed(config(name), { spec: { clusterConfiguration: null } }));
  const image = (name: string) =>
    changed(infraMachine(name), { spec: { image: { url: "http://10.0.0.1/other.qcow2" } } });
  test.each<readonly [situation: string, because: string, says: string, objects: readonly KubeObject[]]>([
    ["no machines", "no-machines", "", without(all, ...NAMES.map(machine))],
    [
      "no cluster configuration",
      "cluster-configuration-unknown",
      "ConfigMap mgmt-kubeadm-config",
      replaced(all, ...noConfiguration),
    ],
    ["infra machines that differ", "machines-differ", "cp-2 spec.image.url", replaced(all, image("cp-2"))],
    [
      "configs that differ",
      "would-roll-out",
      "cp-3 spec.verbosity",
      replaced(all, changed(config("cp-3"), { spec: { verbosity: 3 } })),
    ],
    [
      "versions that differ",
      "would-roll-out",
      "cp-2 spec.version",
      replaced(all, changed(machine("cp-2"), { spec: { version: "v1.33.2" } })),
    ],
    ["an infra machine missing", "infrastructure-machine-missing", "cp-2", without(all, infraMachine("cp-2"))],
    ["two machines", "even-number", "", without(all, machine("cp-3"))],
    ["a CA missing", "secret-missing", "mgmt-ca", without(all, secrets[0] ?? kcp)],
    [
      "no endpoint",
      "no-control-plane-endpoint",
      "",
      replaced(all, changed(bare, { spec: { controlPlaneEndpoint: null } })),
    ],
    [
      "a control plane of that name",
      "name-taken",
      NAME,
      [...all, object(`KubeadmControlPlane.${CONTROL_PLANE}/v1beta2`, NAME)],
    ],
    [
      "a template of that name",
      "name-taken",
      NAME,
      [...all, object(`Metal3MachineTemplate.${INFRASTRUCTURE}/v1beta1`, NAME)],
    ],
    [
      "only v1beta1 served",
      "capi-too-old",
      "",
      [...all, object(`KubeadmControlPlane.${CONTROL_PLANE}/v1beta1`, "else")],
    ],
  ])("%s -> %s", async (_, because, says, objects) => {
    const on = start(objects);
    await on.send(handle, "update", bare);
    expect(annotation(await on.live(cluster), ADOPTION_REFUSED)).toBe(because);
    expect(
      on.cluster
        .events()
        .map(({ note }) => note)
        .join(" "),
    ).toContain(says);
    expect(on.changes.map(({ type, object: one }) => `${type} ${one.kind}`)).toEqual(["update Cluster"]);
  });

  test("a webhook refuses the control plane -> its words are said, nothing is written", async () => {
    const on = start(all, (inner) =>
      Object.assign({}, inner, {
        create: async (...args: Parameters<Cluster["create"]>) => {
          if (args[0].kind === WRITTEN.kind) throw new ClusterError("invalid", "replicas cannot be that");
          return inner.create(...args);
        },
      }),
    );
    await on.send(handle, "update", bare);
    expect(annotation(await on.live(cluster), ADOPTION_REFUSED)).toBe("control-plane-invalid");
    expect(on.cluster.events()[0]?.note).toContain("replicas cannot be that");
    expect(await on.has(TEMPLATE)).toBe(false);
  });

  test("no opt-in -> nothing", async () => {
    const plain = changed(bare, { metadata: { annotations: null } });
    const on = start(replaced(all, plain));
    await on.send(handle, "update", plain);
    await on.sweep(handle);
    expect(on.changes).toEqual([]);
  });

  test("the cause mended -> the refusal goes and the control plane is written", async () => {
    const on = start(replaced(all, image("cp-2")));
    await on.send(handle, "update", bare);
    await on.cluster.patch(await on.live(infraMachine("cp-2")), { spec: infraMachine("cp-2").spec });
    await on.sweep(handle);
    expect(annotation(await on.live(cluster), ADOPTION_REFUSED)).toBeUndefined();
    expect(await on.has(WRITTEN)).toBe(true);
  });
});

describe("cut short", () => {
  test.each([1, 2, 3])("write %i fails -> the next sweep finishes", async (at) => {
    let writes = 0;
    const counted = <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) => {
      return async (...args: Args): Promise<Result> => {
        writes += 1;
        if (writes === at) throw new ClusterError("unavailable", "lost");
        return write(...args);
      };
    };
    const on = start(all, (inner) =>
      Object.assign({}, inner, {
        patch: counted(inner.patch),
        create: async (...args: Parameters<Cluster["create"]>) =>
          args[1]?.dryRun ? inner.create(...args) : counted(inner.create)(...args),
      }),
    );
    await expect(on.send(handle, "update", bare)).rejects.toThrow("lost");
    await on.sweep(handle);
    await on.sweep(handle);
    expect(await labelsOf(on)).not.toContain(false);
    expect(annotation(await on.live(WRITTEN), PAUSED)).toBeUndefined();
  });
});

describe("fields that belong to one machine alone", () => {
  const none = { image: "x" };
  test.each<readonly [kind: string, spec: Record<string, unknown>, left: Record<string, unknown>]>([
    ["Metal3Machine", { image: "x", providerID: "p", userData: { name: "u" }, metaData: {}, networkData: {} }, none],
    ["DockerMachine", { image: "x", providerID: "p", bootstrapped: true }, none],
    [
      "DevMachine",
      { image: "x", providerID: "p", backend: { docker: { customImage: "i", bootstrapped: true } } },
      { image: "x", backend: { docker: { customImage: "i" } } },
    ],
    [
      "VSphereMachine",
      {
        image: "x",
        providerID: "p",
        failureDomain: "a",
        network: { devices: [{ networkName: "n", ipAddrs: ["1"], macAddr: "m" }] },
      },
      { image: "x", network: { devices: [{ networkName: "n" }] } },
    ],
    [
      "OpenStackMachine",
      {
        image: "x",
        providerID: "p",
        instanceID: "i",
        ports: [{ network: "n", fixedIPs: [{ subnet: "s", ipAddress: "1" }] }],
      },
      { image: "x", ports: [{ network: "n", fixedIPs: [{ subnet: "s" }] }] },
    ],
    [
      "AWSMachine",
      { image: "x", providerID: "p", instanceID: "i", cloudInit: { secretPrefix: "s", secretCount: 1 } },
      none,
    ],
    ["OtherMachine", { image: "x", providerID: "p", hostName: "h" }, { image: "x", hostName: "h" }],
  ])("%s -> left out of the template", (kind, spec, left) => {
    expect(templateSpecOf(INFRASTRUCTURE, kind, spec)).toEqual(left);
  });
});

describe("survey, what plan prints", () => {
  test("a marked Cluster and a marked control plane -> both decided, nothing written", async () => {
    const on = start(all);
    expect(await survey(on.context.cluster, NOON, SERVICE_ACCOUNT)).toMatchObject([
      { object: { kind: "Cluster", name: "mgmt" }, decision: { verdict: "label", because: "control-plane-missing" } },
    ]);
    const marked = start(world());
    expect(await survey(marked.context.cluster, NOON, SERVICE_ACCOUNT)).toMatchObject([
      {
        object: { kind: "KubeadmControlPlane", name: "mgmt" },
        decision: { verdict: "label", because: "checks-passed" },
      },
    ]);
    expect([...on.changes, ...marked.changes]).toEqual([]);
  });

  test("adopted machines of a written control plane -> no cloned-from added to them", async () => {
    const on = start(all);
    await on.send(handle, "update", bare);
    expect(annotation(await on.live(infraMachine("cp-1")), CLONED_FROM_NAME)).toBeUndefined();
    expect(ownedBy(machine("cp-1"), cluster).metadata.ownerReferences).toBeDefined();
  });
});
