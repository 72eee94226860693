import type { KubeObject } from "../../../shared/objects/object.ts";
import { textAt } from "../survey/read.ts";
import { isAtLeast, parseVersion } from "../survey/versions.ts";
import { differencesBetween, type FieldDifference } from "./differences.ts";
import { ensureAt, type Fields, recordAt, removeAt } from "./fields.ts";
import { kubeadmSpecOf } from "./kubeadm-spec.ts";
import { pruned } from "./prune.ts";

const LOCAL_MODE = "ControlPlaneKubeletLocalMode";
const JOIN_MARK = "joinConfiguration.controlPlane";

/** How a config without `joinConfiguration.controlPlane` is read: 1.12.0 to 1.14.0 take it for an init config. */
type Reading = "by-mark" | "by-mark-or-kubelet-args";

/**
 * The fields in which a KubeadmConfig is not what a KubeadmControlPlane would make of it, so that it would be rolled
 * out; by the rules of CAPI 1.12 and later (controlplane/kubeadm/pkg/filters.go and desiredstate/desired_state.go).
 * Patch releases read a join config without `joinConfiguration.controlPlane` in two ways and nothing tells them apart
 * from outside, so a difference under either one counts.
 */
export function configDifferences(config: KubeObject, controlPlane: KubeObject): readonly FieldDifference[] {
  const current = kubeadmSpecOf(config);
  const lenient = differences(current, controlPlane, "by-mark-or-kubelet-args");
  const strict = differences(current, controlPlane, "by-mark");
  const isUnmarkedJoin = !isJoin(current, "by-mark") && isJoin(current, "by-mark-or-kubelet-args");
  if (strict.length === 0 || !isUnmarkedJoin) return lenient.length > 0 ? lenient : strict;
  // What the strict reading compares is no use to a person: the missing mark is the cause of all of it.
  return [{ path: `spec.${JOIN_MARK}`, machineValue: null, wantedValue: {} }, ...lenient];
}

/** Whether this is the config of the machine that initialised the cluster, as far as the config says. */
export function isInitConfig(config: KubeObject): boolean {
  return !isJoin(kubeadmSpecOf(config), "by-mark-or-kubelet-args");
}

function differences(current: Fields, controlPlane: KubeObject, reading: Reading): readonly FieldDifference[] {
  const asJoin = compare(current, controlPlane, "join", reading);
  if (asJoin.length === 0 || isJoin(current, reading)) return asJoin;
  // Init and join parts of a control plane may differ, and the first machine was made from the init part.
  return compare(current, controlPlane, "init", reading);
}

function compare(
  machineSpec: Fields,
  controlPlane: KubeObject,
  role: "init" | "join",
  reading: Reading,
): readonly FieldDifference[] {
  const current = structuredClone(machineSpec);
  const wanted = wantedSpec(controlPlane, role);
  if (role === "join" && !isJoin(current, reading)) turnIntoJoin(current, wanted);
  if (isJoin(current, reading)) ensureAt(current, JOIN_MARK);
  for (const spec of [current, wanted]) dropIrrelevant(spec);
  return differencesBetween(pruned(current), pruned(wanted), "spec");
}

function wantedSpec(controlPlane: KubeObject, role: "init" | "join"): Fields {
  const spec = kubeadmSpecOf(controlPlane);
  delete spec[role === "join" ? "initConfiguration" : "joinConfiguration"];
  if (role === "join") ensureAt(spec, JOIN_MARK);
  const version = parseVersion(textAt(controlPlane, "spec.version") ?? "");
  if (version !== undefined && isAtLeast(version, 1, 31) && !isAtLeast(version, 1, 36)) {
    const gates = ensureAt(spec, "clusterConfiguration.featureGates");
    gates[LOCAL_MODE] ??= true;
  }
  return spec;
}

function isJoin(spec: Fields, reading: Reading): boolean {
  if (recordAt(spec, JOIN_MARK) !== undefined) return true;
  const args = recordAt(spec, "joinConfiguration.nodeRegistration")?.kubeletExtraArgs;
  return reading === "by-mark-or-kubelet-args" && Array.isArray(args) && args.length > 0;
}

function turnIntoJoin(current: Fields, wanted: Fields): void {
  const init = recordAt(current, "initConfiguration") ?? {};
  const join = ensureAt(current, "joinConfiguration");
  for (const field of ["timeouts", "patches", "skipPhases", "nodeRegistration"]) join[field] = init[field];
  join.controlPlane = { localAPIEndpoint: init.localAPIEndpoint };
  delete current.initConfiguration;
  // Only a join can set it, so it never rolls an init machine.
  join.caCertPath = recordAt(wanted, "joinConfiguration")?.caCertPath;
}

function dropIrrelevant(spec: Fields): void {
  removeAt(spec, "clusterConfiguration.controlPlaneEndpoint");
  removeAt(spec, "clusterConfiguration.dns");
  removeAt(spec, "joinConfiguration.discovery");
  for (const part of ["initConfiguration", "joinConfiguration"]) {
    removeAt(spec, `${part}.timeouts.controlPlaneComponentHealthCheckSeconds`);
    const registration = recordAt(spec, `${part}.nodeRegistration`);
    if (registration?.imagePullPolicy === "IfNotPresent") delete registration.imagePullPolicy;
  }
  if (spec.format === "cloud-config") delete spec.format;
}
