import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { REFERENCE_TABLE } from "../../../shared/graph/reference-table.ts";
import {
  mayMean,
  mayRefer,
  metadataSuffices,
  referencesOf,
  templatesNamedBy,
} from "../../../shared/graph/references.ts";
import { CLONED_FROM_GROUPKIND, CLONED_FROM_NAME } from "../../../shared/marks/marks.ts";
import { type KubeObject, keyOf, keyText } from "../../../shared/objects/object.ts";
import { nest } from "../../build/nest.ts";
import {
  annotated,
  cluster,
  clusterClass,
  HOME,
  inNamespace,
  kubeadmConfig,
  kubeadmConfigTemplate,
  kubeadmControlPlane,
  labelled,
  machine,
  machineDeployment,
  machineHealthCheck,
  machinePool,
  machineSet,
  metal3Data,
  metal3DataClaim,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  object,
  ownedBy,
  referenceTo,
  rke2Config,
  rke2ConfigTemplate,
  rke2ControlPlane,
  VERSIONS,
} from "../../build/objects.ts";

const CORE = "cluster.x-k8s.io";
const INFRA = "infrastructure.cluster.x-k8s.io";
const BOOT = "bootstrap.cluster.x-k8s.io";
const CP = "controlplane.cluster.x-k8s.io";

/** "path -> key" of each reference, and "path ?? reason" of each unreadable one. */
function said(one: KubeObject): readonly string[] {
  const { readable, unreadable } = referencesOf(one);
  return [
    ...readable.map(({ path, target }) => `${path} -> ${keyText(target)}`),
    ...unreadable.map(({ path, reason }) => `${path} ?? ${reason}`),
  ];
}

const atIndex0 = (path: string) => path.replaceAll("[]", "[0]");

describe("every row of the table is read", () => {
  const rows = REFERENCE_TABLE.map((row) => ({ ...row, name: `${row.referrer.kind} ${row.path}` }));
  const groupAndKind = { group: INFRA, kind: "FooTemplate" };

  it.each(rows)("$name in v1beta1 shape -> the object named", ({ referrer, path }) => {
    const ref = { apiVersion: `${groupAndKind.group}/v1beta1`, kind: groupAndKind.kind, name: "t", namespace: HOME };
    const one = object(`${referrer.kind}.${referrer.group}/v1beta1`, "r", nest(path, ref));
    const target = { ...groupAndKind, namespace: HOME, name: "t" };
    expect(referencesOf(one)).toEqual({
      readable: [{ referrer: keyOf(one), path: atIndex0(path), target }],
      unreadable: [],
    });
  });

  it.each(rows)("$name in v1beta2 shape -> the object named, in the own namespace", ({ referrer, path }) => {
    const one = object(`${referrer.kind}.${referrer.group}/v1beta2`, "r", nest(path, referenceShapeV1beta2()));
    expect(said(one)).toEqual([`${atIndex0(path)} -> ${INFRA}/FooTemplate/${HOME}/t`]);
  });

  function referenceShapeV1beta2() {
    return { apiGroup: groupAndKind.group, kind: groupAndKind.kind, name: "t" };
  }

  const bare = rows.flatMap((row) => (row.target === undefined ? [] : [{ ...row, target: row.target }]));
  it.each(bare)("$name as a bare {name} -> the kind of the row", ({ referrer, path, target }) => {
    const one = object(`${referrer.kind}.${referrer.group}/v1beta2`, "r", nest(path, { name: "t" }));
    expect(said(one)).toEqual([`${atIndex0(path)} -> ${target.group}/${target.kind}/${HOME}/t`]);
  });

  it.each(bare)("$name as a string -> the kind of the row", ({ referrer, path, target }) => {
    const one = object(`${referrer.kind}.${referrer.group}/v1beta1`, "r", nest(path, "t"));
    expect(said(one)).toEqual([`${atIndex0(path)} -> ${target.group}/${target.kind}/${HOME}/t`]);
  });
});

// The table itself against the API types; a row that goes missing would not be noticed by the tests above.
describe("every path of the API types is read", () => {
  const spec = (...paths: string[]) => paths.map((path) => `spec.${path}`);
  const machineTemplate = spec("template.spec.infrastructureRef", "template.spec.bootstrap.configRef");
  const paths: Record<string, readonly string[]> = {
    [`Cluster.${CORE}`]: spec(
      "infrastructureRef",
      "controlPlaneRef",
      "topology.controlPlane.machineHealthCheck.remediationTemplate",
      "topology.workers.machineDeployments[].machineHealthCheck.remediationTemplate",
      "topology.controlPlane.healthCheck.remediation.templateRef",
      "topology.workers.machineDeployments[].healthCheck.remediation.templateRef",
    ),
    [`Machine.${CORE}`]: spec("infrastructureRef", "bootstrap.configRef"),
    [`MachineSet.${CORE}`]: machineTemplate,
    [`MachineDeployment.${CORE}`]: machineTemplate,
    [`MachinePool.${CORE}`]: machineTemplate,
    [`MachineHealthCheck.${CORE}`]: spec("remediationTemplate", "remediation.templateRef"),
    [`KubeadmControlPlane.${CP}`]: spec("machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef"),
    [`RKE2ControlPlane.${CP}`]: spec(
      "infrastructureRef",
      "machineTemplate.infrastructureRef",
      "machineTemplate.spec.infrastructureRef",
    ),
    [`ClusterClass.${CORE}`]: spec(
      "infrastructure.ref",
      "controlPlane.ref",
      "controlPlane.machineInfrastructure.ref",
      "controlPlane.machineHealthCheck.remediationTemplate",
      "workers.machineDeployments[].template.bootstrap.ref",
      "workers.machineDeployments[].template.infrastructure.ref",
      "workers.machineDeployments[].machineHealthCheck.remediationTemplate",
      "workers.machinePools[].template.bootstrap.ref",
      "workers.machinePools[].template.infrastructure.ref",
      "infrastructure.templateRef",
      "controlPlane.templateRef",
      "controlPlane.machineInfrastructure.templateRef",
      "controlPlane.healthCheck.remediation.templateRef",
      "workers.machineDeployments[].bootstrap.templateRef",
      "workers.machineDeployments[].infrastructure.templateRef",
      "workers.machineDeployments[].healthCheck.remediation.templateRef",
      "workers.machinePools[].bootstrap.templateRef",
      "workers.machinePools[].infrastructure.templateRef",
    ),
    [`Metal3MachineTemplate.${INFRA}`]: spec("template.spec.dataTemplate"),
    [`Metal3Machine.${INFRA}`]: [...spec("dataTemplate"), "status.renderedData"],
    [`Metal3DataClaim.${INFRA}`]: [...spec("template"), "status.renderedData"],
    [`Metal3Data.${INFRA}`]: spec("template", "claim"),
  };
  const rows = Object.entries(paths).flatMap(([kind, list]) => list.map((path) => ({ kind, path })));

  it.each(rows)("$kind $path", ({ kind, path }) => {
    const one = object(`${kind}/v1beta1`, "r", nest(path, { apiVersion: `${INFRA}/v1`, kind: "AnyKind", name: "t" }));
    expect(said(one)).toEqual([`${atIndex0(path)} -> ${INFRA}/AnyKind/${HOME}/t`]);
  });

  it("each item of a list counts", () => {
    const worker = (name: string) => ({ template: { bootstrap: { ref: referenceTo(kubeadmConfigTemplate(name)) } } });
    const spec = { workers: { machineDeployments: [worker("a"), worker("b")] } };
    expect(said(object(`ClusterClass.${CORE}/v1beta1`, "class", { spec }))).toEqual([
      `spec.workers.machineDeployments[0].template.bootstrap.ref -> ${BOOT}/KubeadmConfigTemplate/${HOME}/a`,
      `spec.workers.machineDeployments[1].template.bootstrap.ref -> ${BOOT}/KubeadmConfigTemplate/${HOME}/b`,
    ]);
  });
});

describe("Metal3 pools", () => {
  const pools = ["ipAddresses", "prefixes", "gateways", "dnsServers"];
  const one = (fields: unknown) => object(`Metal3DataTemplate.${INFRA}/v1beta1`, "d", { spec: fields });

  it.each(pools)("%sFromIPPool names Metal3 pools by name", (what) => {
    const fields = { metaData: { [`${what}FromIPPool`]: [{ key: "k", name: "p" }] } };
    expect(said(one(fields))).toEqual([`spec.metaData.${what}FromIPPool[0] -> ipam.metal3.io/IPPool/${HOME}/p`]);
  });

  it.each(pools)("%sFromPool names any pool", (what) => {
    const pool = { key: "k", name: "p", apiGroup: "ipam.cluster.x-k8s.io", kind: "InClusterIPPool" };
    const fields = { metaData: { [`${what}FromPool`]: [pool] } };
    const target = `ipam.cluster.x-k8s.io/InClusterIPPool/${HOME}/p`;
    expect(said(one(fields))).toEqual([`spec.metaData.${what}FromPool[0] -> ${target}`]);
  });

  it.each(["ipv4", "ipv6"])("networks, routes and services of %s", (family) => {
    const routes = [{ gateway: { fromIPPool: "gw" }, services: { dnsFromIPPool: "dns" } }];
    const network = { ipAddressFromIPPool: "ip", fromPoolRef: { name: "ref" }, routes };
    const networkData = { networks: { [family]: [network] }, services: { dnsFromIPPool: "all" } };
    const at = `spec.networkData.networks.${family}[0]`;
    expect([...said(one({ networkData }))].sort()).toEqual(
      [
        `spec.networkData.services.dnsFromIPPool -> ipam.metal3.io/IPPool/${HOME}/all`,
        `${at}.ipAddressFromIPPool -> ipam.metal3.io/IPPool/${HOME}/ip`,
        `${at}.fromPoolRef -> ipam.metal3.io/IPPool/${HOME}/ref`,
        `${at}.routes[0].gateway.fromIPPool -> ipam.metal3.io/IPPool/${HOME}/gw`,
        `${at}.routes[0].services.dnsFromIPPool -> ipam.metal3.io/IPPool/${HOME}/dns`,
      ].sort(),
    );
  });

  it("a pool named by an annotation on another object is none that can be followed", () => {
    const networks = { ipv4: [{ fromPoolAnnotation: { object: "machine", annotation: "pool" } }] };
    expect(said(one({ networkData: { networks } }))).toEqual([]);
  });
});

describe.each(VERSIONS)("builders speak %s", (version) => {
  const infra = metal3MachineTemplate("m3", { version });
  const boot = kubeadmConfigTemplate("kct", { version });
  const both = { version, uses: [infra, boot] };
  const names = (one: KubeObject) => templatesNamedBy(one).map(({ kind, name }) => `${kind} ${name}`);

  it.each([
    ["MachineDeployment", machineDeployment("md", both)],
    ["MachineSet", machineSet("ms", both)],
    ["MachinePool", machinePool("mp", both)],
    ["ClusterClass", clusterClass("class", both)],
  ])("%s -> both its templates", (_, one) => {
    expect(names(one)).toEqual(expect.arrayContaining(["Metal3MachineTemplate m3", "KubeadmConfigTemplate kct"]));
  });

  it.each([
    ["KubeadmControlPlane", kubeadmControlPlane("cp", { version, uses: infra })],
    ["RKE2ControlPlane", rke2ControlPlane("cp", { version, uses: infra })],
    ["MachineHealthCheck", machineHealthCheck("mhc", { version, uses: infra })],
    ["Metal3Machine", metal3Machine("m", { version, clonedFrom: infra })],
  ])("%s -> its template", (_, one) => {
    expect(names(one)).toEqual(["Metal3MachineTemplate m3"]);
  });

  it("Metal3 kinds name their data template by name alone", () => {
    const data = metal3DataTemplate("d", { version });
    for (const one of [metal3MachineTemplate, metal3Machine, metal3Data, metal3DataClaim]) {
      expect(names(one("r", { version, uses: data }))).toEqual(["Metal3DataTemplate d"]);
    }
  });

  it("a Cluster and a Machine name concrete objects", () => {
    const [m3, kc] = [metal3Machine("m"), kubeadmConfig("c")];
    const cp = kubeadmControlPlane("cp");
    const ofCluster = referencesOf(cluster("mgmt", { version, uses: [cp, object(`Metal3Cluster.${INFRA}/v1`, "c")] }));
    expect(ofCluster.readable.map(({ target }) => target.kind).sort()).toEqual([
      "KubeadmControlPlane",
      "Metal3Cluster",
    ]);
    const ofMachine = referencesOf(machine("m", { version, uses: [m3, kc] }));
    expect(ofMachine.readable.map(({ target }) => target.kind).sort()).toEqual(["KubeadmConfig", "Metal3Machine"]);
  });
});

describe("a topology's class", () => {
  const topology = (fields: unknown) => object(`Cluster.${CORE}/v1beta1`, "c", { spec: { topology: fields } });

  it.each([
    ["v1beta1, own namespace", { class: "q" }, `spec.topology.class -> ${CORE}/ClusterClass/${HOME}/q`],
    [
      "v1beta1, other namespace",
      { class: "q", classNamespace: "shared" },
      `spec.topology.class -> ${CORE}/ClusterClass/shared/q`,
    ],
    [
      "v1beta1, empty namespace",
      { class: "q", classNamespace: "" },
      `spec.topology.class -> ${CORE}/ClusterClass/${HOME}/q`,
    ],
    ["v1beta2, own namespace", { classRef: { name: "q" } }, `spec.topology.classRef -> ${CORE}/ClusterClass/${HOME}/q`],
    [
      "v1beta2, other namespace",
      { classRef: { name: "q", namespace: "shared" } },
      `spec.topology.classRef -> ${CORE}/ClusterClass/shared/q`,
    ],
  ])("%s", (_, fields, expected) => {
    expect(said(topology(fields))).toEqual([expected]);
  });

  it("none -> no reference", () => expect(said(topology({ class: "" }))).toEqual([]));
});

describe("an RKE2ControlPlane's deprecated spec.infrastructureRef", () => {
  const template = metal3MachineTemplate("t");
  const ref = referenceTo(template);
  const key = `${INFRA}/Metal3MachineTemplate/${HOME}/t`;
  const rke2 = (spec: unknown) => object(`RKE2ControlPlane.${CP}/v1beta1`, "cp", { spec });

  it.each([
    ["it alone", { infrastructureRef: ref }, [`spec.infrastructureRef -> ${key}`]],
    [
      "it and an empty machineTemplate",
      { infrastructureRef: ref, machineTemplate: { infrastructureRef: {} } },
      [`spec.infrastructureRef -> ${key}`],
    ],
    [
      "it empty, the new one set",
      { infrastructureRef: {}, machineTemplate: { infrastructureRef: ref } },
      [`spec.machineTemplate.infrastructureRef -> ${key}`],
    ],
    ["both empty", { infrastructureRef: {}, machineTemplate: { infrastructureRef: {} } }, []],
    [
      "both set",
      { infrastructureRef: ref, machineTemplate: { infrastructureRef: ref } },
      [`spec.infrastructureRef -> ${key}`, `spec.machineTemplate.infrastructureRef -> ${key}`],
    ],
  ])("%s", (_, spec, expected) => {
    expect(said(rke2(spec))).toEqual(expected);
  });
});

describe("cloned-from", () => {
  const pair = (name?: string, groupKind?: string) => ({
    ...(name !== undefined && { [CLONED_FROM_NAME]: name }),
    ...(groupKind !== undefined && { [CLONED_FROM_GROUPKIND]: groupKind }),
  });
  const foo = object(`FooMachine.${INFRA}/v1`, "m");
  const byName = `metadata.annotations[${CLONED_FROM_NAME}]`;
  const byKind = `metadata.annotations[${CLONED_FROM_GROUPKIND}]`;

  it.each([
    [
      "name and groupkind",
      pair("t", `FooMachineTemplate.${INFRA}`),
      [`${byName} -> ${INFRA}/FooMachineTemplate/${HOME}/t`],
    ],
    ["a groupkind of the core group", pair("t", "Foo"), [`${byName} -> /Foo/${HOME}/t`]],
    ["the name alone", pair("t"), [`${byName} ?? has no kind and group`]],
    ["the groupkind alone", pair(undefined, `FooMachineTemplate.${INFRA}`), [`${byKind} ?? has no name`]],
    ["an empty name", pair("", `FooMachineTemplate.${INFRA}`), [`${byKind} ?? has no name`]],
    ["an empty groupkind", pair("t", ""), [`${byName} ?? has no kind and group`]],
    ["a groupkind without kind", pair("t", `.${INFRA}`), [`${byName} ?? has no kind and group`]],
    ["neither", {}, []],
  ])("%s on a machine", (_, annotations, expected) => {
    expect(said(annotated(foo, annotations))).toEqual(expected);
  });

  it("means the clone's own namespace", () => {
    const elsewhere = inNamespace(metal3Machine("m", { clonedFrom: metal3MachineTemplate("t") }), "edge");
    expect(templatesNamedBy(elsewhere)).toEqual([
      { group: INFRA, kind: "Metal3MachineTemplate", namespace: "edge", name: "t" },
    ]);
  });

  it.each([
    ["KubeadmConfig", kubeadmConfig("c", { clonedFrom: kubeadmConfigTemplate("t") }), "KubeadmConfigTemplate"],
    ["RKE2Config", rke2Config("c", { clonedFrom: rke2ConfigTemplate("t") }), "RKE2ConfigTemplate"],
  ])("on a %s -> its template", (_, one, kind) => {
    expect(templatesNamedBy(one).map((key) => key.kind)).toEqual([kind]);
  });

  it("on a template -> no reference: it is the topology controller's note of where it came from", () => {
    const template = annotated(
      metal3MachineTemplate("generated"),
      pair("class-template", `Metal3MachineTemplate.${INFRA}`),
    );
    expect(said(template)).toEqual([]);
    expect(said(annotated(template, pair("class-template", "")))).toEqual([]);
  });

  it("on a kind outside the CAPI groups -> no reference", () => {
    expect(said(annotated(object("ConfigMap.v1", "c"), pair("t", `FooMachineTemplate.${INFRA}`)))).toEqual([]);
  });
});

describe("what is no reference", () => {
  it("an owner, controller or not", () => {
    const template = metal3MachineTemplate("t");
    expect(said(ownedBy(metal3DataTemplate("d"), cluster()))).toEqual([]);
    expect(said(ownedBy(metal3Machine("m"), template, true))).toEqual([]);
  });

  it("a cluster-name label", () => {
    expect(said(labelled(metal3Machine("m"), { "cluster.x-k8s.io/cluster-name": "mgmt" }))).toEqual([]);
  });

  it.each([
    ["null", null],
    ["{}", {}],
    ["empty kind and name", { kind: "", name: "" }],
    ["a group alone", { apiVersion: `${INFRA}/v1` }],
    ["a namespace alone", { namespace: "x" }],
  ])("%s at a place for one", (_, value) => {
    expect(said(object(`Machine.${CORE}/v1`, "m", { spec: { infrastructureRef: value } }))).toEqual([]);
    expect(said(object(`Metal3Machine.${INFRA}/v1`, "m", { spec: { dataTemplate: value } }))).toEqual([]);
  });

  it("the selector of a ClusterClass patch: it says which kind it patches, and names none", () => {
    const selector = { apiVersion: `${BOOT}/v1beta1`, kind: "KubeadmConfigTemplate", matchResources: {} };
    const patches = [{ name: "proxy", definitions: [{ selector, jsonPatches: [] }] }];
    expect(said(object(`ClusterClass.${CORE}/v1beta1`, "class", { spec: { patches } }))).toEqual([]);
  });

  it("a template's own spec.template.kind in a provider group", () => {
    const spec = { template: { kind: "OtherTemplate", spec: {} } };
    expect(said(object(`FooMachineTemplate.${INFRA}/v1`, "t", { spec }))).toEqual([]);
  });
});

describe("kinds without a row", () => {
  const deep = { a: { b: [{ c: referenceTo(metal3MachineTemplate("t"), "v1beta2") }] } };

  it.each([`FooControlPlane.${CP}/v1`, `FooControlPlaneTemplate.${CP}/v1`, `NewCoreKind.${CORE}/v1`])(
    "a template deep in the spec of a %s -> a reference",
    (type) => {
      expect(said(object(type, "one", { spec: deep }))).toEqual([
        `spec.a.b[0].c -> ${INFRA}/Metal3MachineTemplate/${HOME}/t`,
      ]);
    },
  );

  it.each([
    ["outside the spec", object(`FooControlPlane.${CP}/v1`, "one", { status: deep })],
    ["in the spec of an infrastructure kind", object(`FooMachine.${INFRA}/v1`, "one", { spec: deep })],
    [
      "of a kind that is no template",
      object(`FooControlPlane.${CP}/v1`, "one", { spec: { a: referenceTo(cluster()) } }),
    ],
  ])("%s -> no reference", (_, one) => {
    expect(said(one)).toEqual([]);
  });

  it("a template of a group that is not said -> unreadable", () => {
    const one = object(`FooControlPlane.${CP}/v1`, "one", { spec: { a: { kind: "FooTemplate", name: "t" } } });
    expect(said(one)).toEqual(["spec.a ?? has no group"]);
  });
});

describe("unreadable references", () => {
  const at = (ref: unknown) => referencesOf(object(`Machine.${CORE}/v1`, "m", { spec: { infrastructureRef: ref } }));
  const apiVersion = `${INFRA}/v1beta1`;

  it.each([
    ["the kind alone", { kind: "FooMachine", apiVersion }, "has no name", { group: INFRA, kind: "FooMachine" }],
    ["the name alone", { name: "m" }, "has no kind and group", { name: "m" }],
    ["no group", { kind: "FooMachine", name: "m" }, "has no group", { kind: "FooMachine", name: "m" }],
    ["a string", "m", "has no kind and group", { name: "m" }],
    ["a kind of the wrong type", { kind: 5, name: "m", apiVersion }, "has no kind", { group: INFRA, name: "m" }],
    [
      "a name of the wrong type",
      { kind: "FooMachine", name: {}, apiVersion },
      "has no name",
      { group: INFRA, kind: "FooMachine" },
    ],
    [
      "a group of the wrong type",
      { kind: "FooMachine", name: "m", apiVersion: 1 },
      "has no group",
      { kind: "FooMachine", name: "m" },
    ],
    ["a number", 7, "is no reference", {}],
    ["a list", [{ kind: "FooMachine", name: "m", apiVersion }], "is no reference", {}],
    ["true", true, "is no reference", {}],
  ])("%s", (_, ref, reason, meaning) => {
    const { readable, unreadable } = at(ref);
    expect(readable).toEqual([]);
    expect(unreadable).toEqual([
      expect.objectContaining({ path: "spec.infrastructureRef", reason, mayMean: { namespace: HOME, ...meaning } }),
    ]);
  });

  it("kind and name both of a wrong type are still more than nothing", () => {
    expect(at({ kind: 5, name: 7, apiVersion }).unreadable).toHaveLength(1);
  });

  it("a namespace of its own narrows what it may mean", () => {
    const [one] = at({ name: "m", namespace: "edge" }).unreadable;
    const key = { group: INFRA, kind: "FooMachine", name: "m" };
    expect(one && mayMean(one, { ...key, namespace: "edge" })).toBe(true);
    expect(one && mayMean(one, { ...key, namespace: HOME })).toBe(false);
  });
});

describe("namespaces", () => {
  it.each([
    ["a namespace in a v1beta1 reference", { namespace: "edge" }, "edge"],
    ["an empty one", { namespace: "" }, HOME],
    ["none", {}, HOME],
  ])("%s", (_, extra, namespace) => {
    const ref = { ...referenceTo(metal3MachineTemplate("t")), ...extra };
    const one = object(`MachineSet.${CORE}/v1beta1`, "ms", {
      spec: { template: { spec: { infrastructureRef: ref } } },
    });
    expect(templatesNamedBy(one).map((key) => key.namespace)).toEqual([namespace]);
  });
});

describe("which kinds can refer to which", () => {
  const m3t = { group: INFRA, kind: "Metal3MachineTemplate" };
  const data = { group: INFRA, kind: "Metal3DataTemplate" };
  const kct = { group: BOOT, kind: "KubeadmConfigTemplate" };

  it.each([
    ["any core kind to any template", { group: CORE, kind: "MachineSet" }, kct, true],
    ["any control plane to any template", { group: CP, kind: "FooControlPlane" }, m3t, true],
    ["a clone to its template", { group: INFRA, kind: "Metal3Machine" }, m3t, true],
    ["a row's referrer to its target", { group: INFRA, kind: "Metal3Machine" }, data, true],
    ["a template to what its row names", m3t, data, true],
    ["Metal3Data to its template", { group: INFRA, kind: "Metal3Data" }, data, true],
    ["an unknown kind of a hidden group to any", { group: INFRA, kind: "*" }, m3t, true],
    ["another provider's machine", { group: INFRA, kind: "FooMachine" }, m3t, false],
    ["another provider's machine to a data template", { group: INFRA, kind: "FooMachine" }, data, false],
    ["a bootstrap config to machine templates", { group: BOOT, kind: "KubeadmConfig" }, m3t, false],
    ["a clone to its template's name in another group", { group: BOOT, kind: "Metal3Machine" }, m3t, false],
  ])("%s", (_, referrer, target, expected) => {
    expect(mayRefer(referrer, target)).toBe(expected);
  });

  it("metadata alone decides for clones that only the contract knows", () => {
    expect(metadataSuffices({ group: INFRA, kind: "FooMachine" })).toBe(true);
    expect(metadataSuffices({ group: INFRA, kind: "Metal3Machine" })).toBe(false);
    expect(metadataSuffices({ group: CP, kind: "FooControlPlane" })).toBe(false);
  });
});

describe("never throws", () => {
  const kinds = [
    ...REFERENCE_TABLE.map(({ referrer, path }) => ({ ...referrer, path })),
    { group: CP, kind: "FooControlPlane", path: "spec.a" },
    { group: INFRA, kind: "FooMachine", path: "spec.a" },
  ];
  const text = fc.oneof(fc.constantFrom("", "Foo", "FooTemplate", "a/b"), fc.jsonValue());
  const reference = fc.record(
    { apiVersion: text, apiGroup: text, kind: text, name: text, namespace: text },
    { requiredKeys: [] },
  );

  it("whatever JSON stands in spec and status; every answer names its referrer, a path and what it knows", () => {
    const anything = fc.oneof(fc.jsonValue(), reference, fc.array(reference));
    fc.assert(
      fc.property(fc.constantFrom(...kinds), anything, anything, ({ group, kind, path }, at, status) => {
        const one = object(`${kind}.${group}/v1`, "one", { status, ...nest(path, at) });
        const { readable, unreadable } = referencesOf(one);
        for (const { target, path } of readable) {
          expect(path).not.toBe("");
          expect(target.kind && target.name && target.namespace).toBeTruthy();
        }
        for (const { reason, mayMean } of unreadable) expect(reason && mayMean.namespace).toBeTruthy();
      }),
      { numRuns: 500 },
    );
  });
});
