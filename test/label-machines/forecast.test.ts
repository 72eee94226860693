import { describe, expect, test } from "vitest";
import { configDifferences } from "../../functions/label-machines/forecast/compare-config.ts";
import { forecast } from "../../functions/label-machines/forecast/forecast.ts";
import { BOOTSTRAP, CONTROL_PLANE, INFRASTRUCTURE } from "../../shared/objects/kinds.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { annotated, clonedFrom, NOON, object } from "../build/objects.ts";
import {
  bareKcp,
  CONFIG_SPEC,
  changed,
  config,
  factsOf,
  infraMachine,
  infraTemplate,
  kcp,
  machine,
  NAMES,
  replaced,
  without,
  world,
} from "./build.ts";

type Spec = Readonly<Record<string, unknown>>;
type Pair = readonly [situation: string, outcome: string, machineSpec: Spec, kcpSpec: Spec];
type Dated = readonly [...pair: Pair, version: string];
const GATE = "clusterConfiguration.featureGates.ControlPlaneKubeletLocalMode";

const LOCAL_MODE = { clusterConfiguration: { featureGates: { ControlPlaneKubeletLocalMode: true } } };
const join = (fields: Spec = {}, rest: Spec = {}) => ({ joinConfiguration: { controlPlane: {}, ...fields }, ...rest });
const args = (...pairs: readonly (readonly [string, string?])[]) => ({
  nodeRegistration: { kubeletExtraArgs: pairs.map(([name, value]) => ({ name, value })) },
});
const OLD = "v1.30.9";

function paths(machineSpec: Spec, kcpSpec: Spec, version = OLD, api: "v1beta1" | "v1beta2" = "v1beta2"): string {
  const own = object(`KubeadmConfig.${BOOTSTRAP}/${api}`, "cp-1", { spec: machineSpec });
  const wanted = object(`KubeadmControlPlane.${CONTROL_PLANE}/${api}`, "mgmt", {
    spec: { version, kubeadmConfigSpec: kcpSpec },
  });
  return configDifferences(own, wanted)
    .map(({ path }) => path.replace(/^spec\./, ""))
    .join(" ");
}

describe("two configs of v1beta2", () => {
  test.each<Pair>([
    ["a join config like the control plane's", "", join(args(["v", "2"])), { joinConfiguration: args(["v", "2"]) }],
    [
      "its arguments in another order",
      "joinConfiguration.nodeRegistration.kubeletExtraArgs[0].name joinConfiguration.nodeRegistration.kubeletExtraArgs[1].name",
      join(args(["a"], ["b"])),
      { joinConfiguration: args(["b"], ["a"]) },
    ],
    [
      "another argument value",
      "joinConfiguration.nodeRegistration.kubeletExtraArgs[0].value",
      join(args(["v", "2"])),
      { joinConfiguration: args(["v", "4"]) },
    ],
    [
      "an empty argument value beside none",
      "joinConfiguration.nodeRegistration.kubeletExtraArgs[0].value",
      join(args(["v", ""])),
      { joinConfiguration: args(["v"]) },
    ],
    [
      "one argument more",
      "joinConfiguration.nodeRegistration.kubeletExtraArgs",
      join(args(["a"], ["b"])),
      { joinConfiguration: args(["a"]) },
    ],
    [
      "a join config without its mark",
      "joinConfiguration.controlPlane",
      { joinConfiguration: args(["v", "2"]) },
      { joinConfiguration: args(["v", "2"]) },
    ],
    [
      "a join config without its mark, and another difference",
      "joinConfiguration.controlPlane files",
      { joinConfiguration: args(["v"]), files: [{ path: "/x" }] },
      { joinConfiguration: args(["v"]) },
    ],
    ["a join config, the control plane's init part set", "", join(), { initConfiguration: args(["v", "2"]) }],
    [
      "an init config, compared as join",
      "",
      { initConfiguration: args(["v", "2"]) },
      { joinConfiguration: args(["v", "2"]) },
    ],
    [
      "an init config that only the init part matches",
      "",
      { initConfiguration: args(["v", "2"]) },
      { initConfiguration: args(["v", "2"]), joinConfiguration: args(["v", "9"]) },
    ],
    [
      "an init config that neither part matches",
      "initConfiguration.nodeRegistration.kubeletExtraArgs[0].value",
      { initConfiguration: args(["v", "2"]) },
      { initConfiguration: args(["v", "3"]), joinConfiguration: args(["v", "4"]) },
    ],
    [
      "an init config, the join part with a CA path",
      "",
      { initConfiguration: args(["v", "2"]) },
      { joinConfiguration: { ...args(["v", "2"]), caCertPath: "/ca" } },
    ],
    [
      "an init config with a local endpoint",
      "",
      { initConfiguration: { localAPIEndpoint: { bindPort: 6443 } } },
      { joinConfiguration: { controlPlane: { localAPIEndpoint: { bindPort: 6443 } } } },
    ],
    [
      "an init config with tokens, compared as join",
      "",
      { initConfiguration: { bootstrapTokens: [{ token: "a.b" }] } },
      {},
    ],
    ["a join config with a CA path of its own", "joinConfiguration.caCertPath", join({ caCertPath: "/ca" }), {}],
    [
      "the endpoint that the bootstrap provider writes",
      "",
      join({}, { clusterConfiguration: { controlPlaneEndpoint: "x:6443" } }),
      {},
    ],
    ["another DNS image", "", join({}, { clusterConfiguration: { dns: { imageTag: "1" } } }), {}],
    ["another discovery", "", join({ discovery: { bootstrapToken: { token: "a.b" } } }), {}],
    ["another health check timeout", "", join({ timeouts: { controlPlaneComponentHealthCheckSeconds: 60 } }), {}],
    [
      "another kubelet timeout",
      "joinConfiguration.timeouts.kubeletHealthCheckSeconds",
      join({ timeouts: { kubeletHealthCheckSeconds: 0 } }),
      {},
    ],
    [
      "no cluster configuration",
      "clusterConfiguration.certificatesDir",
      join(),
      { clusterConfiguration: { certificatesDir: "/pki" } },
    ],
    [
      "another cluster configuration",
      "clusterConfiguration.apiServer.certSANs[0]",
      join({}, { clusterConfiguration: { apiServer: { certSANs: ["a"] } } }),
      { clusterConfiguration: { apiServer: { certSANs: ["b"] } } },
    ],
    [
      "empty lists, records and strings beside none",
      "",
      join(
        { skipPhases: [], nodeRegistration: { name: "", kubeletExtraArgs: [] } },
        { files: [], ntp: { servers: [] }, clusterConfiguration: { etcd: { local: {} }, featureGates: {} } },
      ),
      {},
    ],
    [
      "no taints beside unset taints",
      "joinConfiguration.nodeRegistration.taints",
      join({ nodeRegistration: { taints: [] } }),
      {},
    ],
    [
      "append false beside unset",
      "files[0].append",
      join({}, { files: [{ path: "/x", append: false }] }),
      { files: [{ path: "/x" }] },
    ],
    ["the default pull policy beside none", "", join({ nodeRegistration: { imagePullPolicy: "IfNotPresent" } }), {}],
    [
      "another pull policy",
      "joinConfiguration.nodeRegistration.imagePullPolicy",
      join({ nodeRegistration: { imagePullPolicy: "Always" } }),
      {},
    ],
    ["the default format beside none", "", join({}, { format: "cloud-config" }), {}],
    ["another format", "format", join({}, { format: "ignition" }), {}],
  ])("%s -> %s", (_, outcome, machineSpec, kcpSpec) => {
    expect(paths(machineSpec, kcpSpec)).toBe(outcome);
  });
});

describe("the gate that the control plane sets", () => {
  test.each<Dated>([
    ["1.30, no gate", "", join(), {}, "v1.30.9"],
    ["1.31, no gate", GATE, join(), {}, "v1.31.0"],
    ["1.31 pre-release, no gate", GATE, join(), {}, "v1.31.0-rc.1"],
    ["1.31, the gate", "", join({}, LOCAL_MODE), {}, "v1.31.0"],
    ["1.35, the gate", "", join({}, LOCAL_MODE), {}, "v1.35.7"],
    [
      "1.35, another gate",
      GATE,
      join({}, { clusterConfiguration: { featureGates: { X: true } } }),
      { clusterConfiguration: { featureGates: { X: true } } },
      "v1.35.7",
    ],
    [
      "1.35, the gate off on both sides",
      "",
      join({}, { clusterConfiguration: { featureGates: { ControlPlaneKubeletLocalMode: false } } }),
      { clusterConfiguration: { featureGates: { ControlPlaneKubeletLocalMode: false } } },
      "v1.35.7",
    ],
    ["1.36, no gate", "", join(), {}, "v1.36.0"],
    ["1.36, the gate", GATE, join({}, LOCAL_MODE), {}, "v1.36.0"],
  ])("%s -> %s", (_, outcome, machineSpec, kcpSpec, version) => {
    expect(paths(machineSpec, kcpSpec, version)).toBe(outcome);
  });
});

describe("two configs of v1beta1", () => {
  test.each<Pair>([
    [
      "arguments as a map in another order",
      "",
      join({ nodeRegistration: { kubeletExtraArgs: { b: "1", a: "2" } } }),
      { joinConfiguration: { nodeRegistration: { kubeletExtraArgs: { a: "2", b: "1" } } } },
    ],
    [
      "another argument",
      "joinConfiguration.nodeRegistration.kubeletExtraArgs[0].value",
      join({ nodeRegistration: { kubeletExtraArgs: { a: "2" } } }),
      { joinConfiguration: { nodeRegistration: { kubeletExtraArgs: { a: "3" } } } },
    ],
    [
      "fields that v1beta2 dropped",
      "",
      join(
        {},
        {
          useExperimentalRetryJoin: true,
          clusterConfiguration: {
            kubernetesVersion: "v1.30.9",
            clusterName: "x",
            networking: { podSubnet: "10.0.0.0/8" },
          },
        },
      ),
      {},
    ],
    [
      "another API server timeout",
      "",
      join({}, { clusterConfiguration: { apiServer: { timeoutForControlPlane: "5m0s" } } }),
      {},
    ],
    [
      "another discovery timeout",
      "joinConfiguration.timeouts.tlsBootstrapSeconds",
      join({ discovery: { timeout: "1m30s" } }),
      { joinConfiguration: { discovery: { timeout: "2m" } } },
    ],
    [
      "the same discovery timeout, written otherwise",
      "",
      join({ discovery: { timeout: "90s" } }),
      { joinConfiguration: { discovery: { timeout: "1m30s" } } },
    ],
    [
      "append false beside unset",
      "",
      join({}, { files: [{ path: "/x", append: false }] }),
      { files: [{ path: "/x" }] },
    ],
    [
      "arguments of etcd and the API server",
      "clusterConfiguration.apiServer.extraArgs[0].value clusterConfiguration.etcd.local.extraArgs[0].value",
      join(
        {},
        { clusterConfiguration: { apiServer: { extraArgs: { v: "1" } }, etcd: { local: { extraArgs: { v: "1" } } } } },
      ),
      { clusterConfiguration: { apiServer: { extraArgs: { v: "2" } }, etcd: { local: { extraArgs: { v: "2" } } } } },
    ],
  ])("%s -> %s", (_, outcome, machineSpec, kcpSpec) => {
    expect(paths(machineSpec, kcpSpec, OLD, "v1beta1")).toBe(outcome);
  });

  test("timeouts that only the conversion data keeps -> compared", () => {
    const data = JSON.stringify({ spec: { joinConfiguration: { timeouts: { discoverySeconds: 7 } } } });
    const own = annotated(object(`KubeadmConfig.${BOOTSTRAP}/v1beta1`, "cp-1", { spec: join() }), {
      "cluster.x-k8s.io/conversion-data": data,
    });
    const wanted = object(`KubeadmControlPlane.${CONTROL_PLANE}/v1beta1`, "mgmt", { spec: { version: OLD } });
    expect(configDifferences(own, wanted)).toMatchObject([
      { path: "spec.joinConfiguration.timeouts.discoverySeconds" },
    ]);
  });

  test("a config of v1beta1 beside a control plane of v1beta2 -> no difference where they mean the same", () => {
    const { kubeletExtraArgs } = { kubeletExtraArgs: { "cloud-provider": "external" } };
    const { apiServer, featureGates } = CONFIG_SPEC.clusterConfiguration;
    const spec = {
      clusterConfiguration: { apiServer, featureGates, kubernetesVersion: "v1.33.1" },
      joinConfiguration: { controlPlane: {}, nodeRegistration: { kubeletExtraArgs } },
      preKubeadmCommands: CONFIG_SPEC.preKubeadmCommands,
    };
    expect(configDifferences(object(`KubeadmConfig.${BOOTSTRAP}/v1beta1`, "cp-2", { spec }), bareKcp)).toEqual([]);
  });
});

type Row = readonly [situation: string, outcome: string, objects: readonly KubeObject[]];

const all = world();
const template = (name: string, kind = "Metal3MachineTemplate") => object(`${kind}.${INFRASTRUCTURE}/v1beta1`, name);
const cloned = (from: KubeObject) => replaced(all, clonedFrom(infraMachine("cp-2"), from));
const rollout = (fields: Spec) => replaced(all, changed(kcp, { spec: { rollout: fields } }));
const v1beta1Kcp = (fields: Spec) =>
  replaced(all, {
    ...changed(kcp, { spec: { ...fields, kubeadmConfigSpec: CONFIG_SPEC } }),
    apiVersion: `${CONTROL_PLANE}/v1beta1`,
  });
const expiring = (at: string, objects: readonly KubeObject[]) =>
  replaced(objects, changed(machine("cp-2"), { status: { certificatesExpiryDate: at } }));

describe("machines", () => {
  test.each<Row>([
    ["made as the control plane would", "", all],
    ["another version", "cp-2 spec.version", replaced(all, changed(machine("cp-2"), { spec: { version: "v1.33.0" } }))],
    [
      "the same version without the v",
      "cp-2 spec.version",
      replaced(all, changed(machine("cp-2"), { spec: { version: "1.33.1" } })),
    ],
    ["no config", "", without(all, config("cp-2"))],
    ["no infra machine", "", without(all, infraMachine("cp-2"))],
    ["cloned from the template", "", cloned(infraTemplate)],
    ["cloned from another", "cp-2 metadata.annotations[cluster.x-k8s.io/cloned-from-name]", cloned(template("other"))],
    [
      "cloned from another kind",
      "cp-2 metadata.annotations[cluster.x-k8s.io/cloned-from-groupkind]",
      cloned(template("mgmt-cp", "OtherTemplate")),
    ],
    [
      "one cloned-from annotation alone",
      "",
      replaced(all, annotated(infraMachine("cp-2"), { "cluster.x-k8s.io/cloned-from-name": "other" })),
    ],
    [
      "rollout.after in the past, born before",
      "cp-1 metadata.creationTimestamp cp-2 metadata.creationTimestamp cp-3 metadata.creationTimestamp",
      rollout({ after: "2026-08-15T00:00:00Z" }),
    ],
    ["rollout.after in the past, born after", "", rollout({ after: "2026-07-15T00:00:00Z" })],
    ["rollout.after in the future", "", rollout({ after: "2026-09-02T00:00:00Z" })],
    [
      "rolloutAfter of v1beta1",
      "cp-1 metadata.creationTimestamp cp-2 metadata.creationTimestamp cp-3 metadata.creationTimestamp",
      v1beta1Kcp({ rolloutAfter: "2026-08-15T00:00:00Z" }),
    ],
    [
      "certificates that expire soon",
      "cp-2 status.certificatesExpiryDate",
      expiring("2026-09-20T00:00:00Z", rollout({ before: { certificatesExpiryDays: 21 } })),
    ],
    [
      "certificates that last",
      "",
      expiring("2026-12-20T00:00:00Z", rollout({ before: { certificatesExpiryDays: 21 } })),
    ],
    [
      "rolloutBefore of v1beta1",
      "cp-2 status.certificatesExpiryDate",
      expiring("2026-09-20T00:00:00Z", v1beta1Kcp({ rolloutBefore: { certificatesExpiryDays: 21 } })),
    ],
    [
      "configs that differ from one another",
      "cp-2 spec.verbosity cp-3 spec.verbosity",
      replaced(all, ...NAMES.slice(1).map((name, at) => changed(config(name), { spec: { verbosity: at } }))),
    ],
  ])("%s -> %s", async (_, outcome, objects) => {
    const found = forecast(await factsOf(objects), NOON);
    expect(found.map(({ machine: name, path }) => `${name} ${path}`).join(" ")).toBe(outcome);
  });
});
