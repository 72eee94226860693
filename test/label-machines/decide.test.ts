import { describe, expect, test } from "vitest";
import { decide } from "../../functions/label-machines/decide.ts";
import { ADOPT, ALLOW_ROLLOUT, LABELLING } from "../../functions/label-machines/marks.ts";
import { CLUSTER_NAME, DELETE_FOR_MOVE, PAUSED } from "../../shared/marks/marks.ts";
import { BOOTSTRAP, CONTROL_PLANE, CORE } from "../../shared/objects/kinds.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { annotated, finalizedBy, labelled, machineSet, NOON, object, ownedBy, terminating } from "../build/objects.ts";
import {
  bareKcp,
  changed,
  cluster,
  config,
  factsOf,
  infraTemplate,
  kcp,
  machine,
  NAMES,
  replaced,
  secrets,
  seen,
  without,
  world,
} from "./build.ts";

type Row = readonly [situation: string, outcome: string, objects: readonly KubeObject[]];

const all = world();
const unpaused = changed(kcp, { metadata: { annotations: { [PAUSED]: null } } });
const allSeen = replaced(all, ...NAMES.flatMap((name) => [seen(machine(name)), seen(config(name))]));
const allOwned = replaced(all, ...NAMES.map((name) => ownedBy(seen(machine(name)), kcp, true)));
const foreign = ownedBy(machine("cp-2"), machineSet("someone"), true);
const half = annotated(unpaused, { [LABELLING]: '{"machines":["cp-1"],"configs":["cp-1"]}' });
const kept = (one: KubeObject) => terminating(finalizedBy(one, "x"));
const wrong = (one: KubeObject, version: string | null) => changed(one, { spec: { version } });
const rke2 = object(`RKE2ControlPlane.${CONTROL_PLANE}/v1beta1`, "mgmt", {
  metadata: { annotations: { [ADOPT]: "true", [PAUSED]: "true" } },
});
const definition = (spec: unknown) =>
  object("CustomResourceDefinition.apiextensions.k8s.io/v1", "machines.cluster.x-k8s.io", {
    metadata: { namespace: "" },
    spec,
  });
const served = (name: string, fields: object = {}) => ({
  name,
  served: true,
  schema: { openAPIV3Schema: { properties: { spec: { properties: fields } } } },
});

describe("order", () => {
  test.each<Row>([
    ["no opt-in", "leave not-opted-in", replaced(all, ownedBy(bareKcp, cluster))],
    ["opt-in of another value", "leave not-opted-in", replaced(all, annotated(kcp, { [ADOPT]: "yes" }))],
    ["being moved away", "leave off-limits", replaced(all, annotated(kcp, { [DELETE_FOR_MOVE]: "" }))],
    ["every machine owned", "adopted owned", allOwned],
    ["every machine owned, unpaused", "adopted owned", replaced(allOwned, unpaused)],
    ["all labelled, paused", "label adoption-pending", allSeen],
    ["all labelled, unpaused", "label adoption-pending", replaced(allSeen, unpaused)],
    [
      "two owned, one labelled",
      "label adoption-pending",
      replaced(allOwned, seen(machine("cp-3")), seen(config("cp-3"))),
    ],
    [
      "machines labelled, configs not",
      "label checks-passed",
      replaced(all, ...NAMES.map((name) => seen(machine(name)))),
    ],
    ["not paused", "refuse kcp-not-paused", replaced(all, unpaused)],
    ["not paused, part labelled by a person", "refuse kcp-not-paused", replaced(all, unpaused, seen(machine("cp-1")))],
    ["not paused, part labelled by us", "label unpaused-halfway", replaced(all, half, seen(machine("cp-1")))],
    [
      "not paused and much else wrong",
      "refuse kcp-not-paused",
      without(replaced(all, unpaused), ...secrets, infraTemplate),
    ],
    [
      "paused through its Cluster",
      "label checks-passed",
      replaced(all, unpaused, changed(cluster, { spec: { paused: true } })),
    ],
    ["ready", "label checks-passed", all],
    ["all labelled, one of another controller", "refuse mixed-management", replaced(allSeen, seen(foreign))],
    ["an RKE2 control plane", "refuse provider-does-not-adopt", [...without(all, kcp), rke2]],
  ])("%s -> %s", async (_, outcome, objects) => {
    const { verdict, because } = decide(await factsOf(objects), NOON);
    expect(`${verdict} ${because}`).toBe(outcome);
  });

  test("ready -> the three machines are named, the worker is not", async () => {
    const decision = decide(await factsOf(all), NOON);
    expect(decision).toMatchObject({
      machines: NAMES.map((name) => ({ group: CORE, kind: "Machine", namespace: "sylva", name })),
    });
  });

  test("all labelled -> nothing left to do", async () => {
    expect(decide(await factsOf(allSeen), NOON)).toMatchObject({ machines: [], withheld: [] });
  });

  test("all labelled and paused, a CA missing -> pending, and the pause is withheld", async () => {
    const decision = decide(await factsOf(without(allSeen, secrets[0] ?? kcp)), NOON);
    expect(decision).toMatchObject({ because: "adoption-pending", withheld: [{ reason: "secret-missing" }] });
  });
});

const rows: readonly Row[] = [
  ["CAPI 1.10", "capi-too-old", replaced(all, definition({ versions: [served("v1beta1")] }))],
  ["CAPI 1.11", "capi-too-old", replaced(all, definition({ versions: [served("v1beta2", { version: {} })] }))],
  ["CAPI 1.12", "", replaced(all, definition({ versions: [served("v1beta2", { version: {}, taints: {} })] }))],
  ["an open schema", "", replaced(all, definition({ versions: [served("v1beta2")] }))],
  ["control plane deleted", "control-plane-terminating", replaced(all, kept(kcp))],
  ["Cluster gone", "cluster-not-found", without(all, cluster)],
  ["Cluster deleted", "cluster-terminating", replaced(all, kept(cluster))],
  ["named by no Cluster", "not-named-by-cluster", replaced(all, changed(cluster, { spec: { controlPlaneRef: null } }))],
  ["owned by no Cluster", "not-owned-by-cluster", replaced(all, changed(kcp, { metadata: { ownerReferences: null } }))],
  ["infrastructure missing", "infrastructure-not-provisioned", replaced(all, changed(cluster, { status: null }))],
  [
    "no endpoint",
    "no-control-plane-endpoint",
    replaced(all, changed(cluster, { spec: { controlPlaneEndpoint: null } })),
  ],
  [
    "endpoint without port",
    "no-control-plane-endpoint",
    replaced(all, changed(cluster, { spec: { controlPlaneEndpoint: { port: 0 } } })),
  ],
  ["no infrastructure template", "infrastructure-template-missing", without(all, infraTemplate)],
  ["no machines", "no-machines", without(all, ...NAMES.map(machine))],
  ["one machine too many", "replicas-mismatch", replaced(all, machine("cp-4"), config("cp-4"))],
  ["one machine too few", "replicas-mismatch", without(all, machine("cp-3"))],
  ["a foreign controller", "mixed-management", replaced(all, foreign)],
  [
    "a labelled machine of another controller",
    "mixed-management replicas-mismatch",
    replaced(all, ownedBy(seen(machine("x")), machineSet("s"), true), config("x")),
  ],
  ["a machine deleted", "machine-terminating", replaced(all, kept(machine("cp-2")))],
  [
    "config of another kind",
    "bootstrap-config-kind",
    replaced(all, changed(seen(machine("cp-2")), { spec: { bootstrap: { configRef: { kind: "RKE2Config" } } } })),
  ],
  [
    "no config reference",
    "bootstrap-config-kind",
    replaced(all, changed(seen(machine("cp-2")), { spec: { bootstrap: { configRef: null } } })),
  ],
  [
    "config missing, labelled",
    "bootstrap-config-missing",
    without(replaced(all, seen(machine("cp-2"))), config("cp-2")),
  ],
  ["config missing, unlabelled", "bootstrap-config-missing replicas-mismatch", without(all, config("cp-2"))],
  [
    "label of another cluster",
    "cluster-name-differs",
    replaced(all, labelled(machine("cp-2"), { [CLUSTER_NAME]: "other" })),
  ],
  ["version empty", "version-empty would-roll-out", replaced(all, wrong(machine("cp-2"), null))],
  ["version no version", "version-unparsable would-roll-out", replaced(all, wrong(machine("cp-2"), "latest"))],
  ["two minors apart", "version-skew-too-large would-roll-out", replaced(all, wrong(machine("cp-2"), "v1.31.4"))],
  ["another major", "version-skew-too-large would-roll-out", replaced(all, wrong(machine("cp-2"), "v2.33.1"))],
  ["one minor apart", "would-roll-out", replaced(all, wrong(machine("cp-2"), "v1.32.4"))],
  ["control plane without version", "version-empty would-roll-out", replaced(all, wrong(kcp, null))],
  ...secrets.map((secret): Row => [`${secret.metadata.name} missing`, "secret-missing", without(all, secret)]),
  [
    "a config that differs",
    "would-roll-out",
    replaced(all, changed(config("cp-2"), { spec: { preKubeadmCommands: [] } })),
  ],
];

const reasonsOf = (decision: ReturnType<typeof decide>) =>
  "reasons" in decision ? decision.reasons.map(({ reason }) => reason) : [];

describe("checks", () => {
  test.each(rows)("%s -> %s", async (_, outcome, objects) => {
    const reasons = new Set(reasonsOf(decide(await factsOf(objects), NOON)));
    expect([...reasons].sort()).toEqual(outcome.split(" ").filter(Boolean).sort());
  });

  test("secrets that may not be asked for -> refused with the command that grants it", async () => {
    const decision = decide(await factsOf(all, { isForbidden: true }), NOON);
    expect(decision).toMatchObject({
      verdict: "refuse",
      because: "secrets-unreadable",
      reasons: [{ message: expect.stringContaining("create role") }],
    });
    expect(JSON.stringify(decision)).toContain("--resource-name=mgmt-ca");
  });

  test("everything wrong at once -> every reason at once", async () => {
    const bad = [
      changed(kcp, { metadata: { ownerReferences: null }, spec: { replicas: 5 } }),
      changed(cluster, { status: null, spec: { controlPlaneEndpoint: null } }),
      ownedBy(wrong(machine("cp-1"), "v1.30.0"), machineSet("someone"), true),
      kept(wrong(machine("cp-2"), null)),
      changed(seen(machine("cp-3")), { spec: { bootstrap: { configRef: { kind: "RKE2Config" } } } }),
    ];
    const decision = decide(await factsOf(without(replaced(all, ...bad), infraTemplate, ...secrets)), NOON);
    expect(new Set(reasonsOf(decision))).toEqual(
      new Set([
        "not-owned-by-cluster",
        "infrastructure-not-provisioned",
        "no-control-plane-endpoint",
        "infrastructure-template-missing",
        "replicas-mismatch",
        "mixed-management",
        "machine-terminating",
        "bootstrap-config-kind",
        "version-skew-too-large",
        "version-empty",
        "secret-missing",
        "would-roll-out",
      ]),
    );
    expect(reasonsOf(decision).filter((reason) => reason === "secret-missing")).toHaveLength(4);
  });

  test("a differing config -> because would-roll-out, with machine, path and both values", async () => {
    const other = changed(config("cp-2"), { spec: { preKubeadmCommands: ["true"] } });
    expect(decide(await factsOf(replaced(all, other)), NOON)).toMatchObject({
      because: "would-roll-out",
      differences: [
        { machine: "cp-2", path: "spec.preKubeadmCommands[0]", machineValue: "true", wantedValue: "swapoff -a" },
      ],
    });
  });

  test("a rollout forecast and allowed -> label, the differences said", async () => {
    const other = changed(config("cp-2"), { spec: { preKubeadmCommands: ["true"] } });
    const decision = decide(await factsOf(replaced(all, other, annotated(kcp, { [ALLOW_ROLLOUT]: "true" }))), NOON);
    expect(decision).toMatchObject({
      verdict: "label",
      because: "rollout-allowed",
      differences: [{ machine: "cp-2" }],
    });
  });

  test("one minor apart and the rollout allowed -> label with a warning", async () => {
    const objects = replaced(all, wrong(machine("cp-2"), "v1.32.4"), annotated(kcp, { [ALLOW_ROLLOUT]: "true" }));
    expect(decide(await factsOf(objects), NOON)).toMatchObject({
      verdict: "label",
      warnings: [{ reason: "version-skew" }],
    });
  });

  test("an even number -> label with a warning", async () => {
    const two = without(replaced(all, changed(kcp, { spec: { replicas: 2 } })), machine("cp-3"));
    expect(decide(await factsOf(two), NOON)).toMatchObject({ verdict: "label", warnings: [{ reason: "even-number" }] });
  });

  test("an even number beside external etcd -> no warning", async () => {
    const etcd = { clusterConfiguration: { etcd: { external: { endpoints: ["https://etcd:2379"] } } } };
    const configs = NAMES.map((name) => changed(config(name), { spec: etcd }));
    const two = replaced(all, changed(kcp, { spec: { replicas: 2, kubeadmConfigSpec: etcd } }), ...configs);
    expect(decide(await factsOf(without(two, machine("cp-3"))), NOON)).toMatchObject({
      verdict: "label",
      warnings: [],
    });
  });

  test("rollout.before set, the expiry unknown -> label with a warning for each machine", async () => {
    const before = changed(kcp, { spec: { rollout: { before: { certificatesExpiryDays: 21 } } } });
    const decision = decide(await factsOf(replaced(all, before)), NOON);
    expect(decision).toMatchObject({
      verdict: "label",
      warnings: NAMES.map(() => ({ reason: "certificate-expiry-unknown" })),
    });
  });
});

describe("candidates", () => {
  const bare = (spec: object) => object(`KubeadmConfig.${BOOTSTRAP}/v1beta2`, "cp-3", { spec });
  test.each<Row>([
    ["an init config", "3", replaced(all, bare({ initConfiguration: {} }))],
    ["a cluster configuration alone", "3", replaced(all, bare({ clusterConfiguration: {} }))],
    ["a join config of a control plane", "3", replaced(all, bare({ joinConfiguration: { controlPlane: {} } }))],
    ["a join config of a worker", "2", replaced(all, bare({ joinConfiguration: {} }))],
    ["a join config of a worker, labelled", "3", replaced(all, bare({ joinConfiguration: {} }), seen(machine("cp-3")))],
    [
      "a machine of another cluster",
      "2",
      replaced(all, changed(machine("cp-3"), { spec: { clusterName: "x" }, metadata: { labels: null } })),
    ],
    [
      "a worker of a set, its template with a cluster configuration",
      "2",
      replaced(all, bare({ clusterConfiguration: {} }), ownedBy(machine("cp-3"), machineSet("s"), true)),
    ],
  ])("%s -> %s candidates", async (_, count, objects) => {
    const decision = decide(
      await factsOf(replaced(objects, changed(kcp, { spec: { replicas: Number(count) } }))),
      NOON,
    );
    expect(reasonsOf(decision)).not.toContain("replicas-mismatch");
  });
});
