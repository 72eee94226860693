import { annotation } from "../../../shared/marks/marks.ts";
import type { KubeObject } from "../../../shared/objects/object.ts";
import { isRecord } from "../../../shared/objects/path.ts";
import { isV1beta1 } from "../survey/read.ts";
import { ensureAt, type Fields, recordAt, recordsAt, removeAt } from "./fields.ts";

/** What CAPI's conversion to v1beta1 keeps of the v1beta2 object (util/conversion DataAnnotation). */
const CONVERSION_DATA = "cluster.x-k8s.io/conversion-data";

/**
 * A copy of the KubeadmConfigSpec of a KubeadmConfig (`spec`) or a KubeadmControlPlane (`spec.kubeadmConfigSpec`), in
 * v1beta2's shape whatever version it was read at, by the rules of CAPI's own conversion (api/bootstrap/kubeadm/v1beta1
 * and bootstrap/kubeadm/webhooks/conversion, v1.14).
 */
export function kubeadmSpecOf(object: KubeObject): Fields {
  const path = object.kind === "KubeadmConfig" ? "spec" : "spec.kubeadmConfigSpec";
  const spec = structuredClone(recordAt(object, path) ?? {});
  if (!isV1beta1(object)) return spec;
  const kept = parsed(annotation(object, CONVERSION_DATA));
  return fromV1beta1(spec, kept && recordAt(kept, path));
}

/** Brings ClusterConfiguration fields of v1beta1, or of kubeadm's own v1beta3 and v1beta4, into v1beta2's shape. */
export function convertClusterConfiguration(configuration: Fields): void {
  for (const gone of ["apiVersion", "kind", "networking", "kubernetesVersion", "clusterName"])
    delete configuration[gone];
  removeAt(configuration, "apiServer.timeoutForControlPlane");
  for (const path of ["apiServer", "controllerManager", "scheduler", "etcd.local"]) {
    const component = recordAt(configuration, path);
    if (component !== undefined) argsToList(component, "extraArgs");
    for (const volume of recordsAt(configuration, `${path}.extraVolumes`)) dropFalse(volume, "readOnly");
  }
}

function fromV1beta1(spec: Fields, kept: Fields | undefined): Fields {
  delete spec.useExperimentalRetryJoin;
  const clusterConfiguration = recordAt(spec, "clusterConfiguration");
  if (clusterConfiguration !== undefined) convertClusterConfiguration(clusterConfiguration);
  for (const part of ["initConfiguration", "joinConfiguration"]) convertNodeConfiguration(spec, part, kept);
  const timeout = recordAt(spec, "joinConfiguration.discovery")?.timeout;
  if (typeof timeout === "string") {
    ensureAt(spec, "joinConfiguration.timeouts").tlsBootstrapSeconds = goSeconds(timeout);
  }
  // v1beta1 cannot tell false from unset, and CAPI takes it for unset.
  for (const file of recordsAt(spec, "files")) dropFalse(file, "append");
  for (const partition of recordsAt(spec, "diskSetup.partitions")) dropFalse(partition, "layout");
  dropFalse(recordAt(spec, "ignition.containerLinuxConfig") ?? {}, "strict");
  return spec;
}

function convertNodeConfiguration(spec: Fields, part: string, kept: Fields | undefined): void {
  const timeouts = kept && recordAt(kept, `${part}.timeouts`);
  if (timeouts !== undefined) ensureAt(spec, part).timeouts = structuredClone(timeouts);
  removeAt(spec, `${part}.apiVersion`);
  removeAt(spec, `${part}.kind`);
  argsToList(recordAt(spec, `${part}.nodeRegistration`) ?? {}, "kubeletExtraArgs");
  for (const token of recordsAt(spec, `${part}.bootstrapTokens`)) {
    if (typeof token.ttl === "string") token.ttlSeconds = goSeconds(token.ttl);
    delete token.ttl;
  }
}

function argsToList(component: Fields, field: string): void {
  const args = component[field];
  if (!isRecord(args)) return;
  const names = Object.keys(args).sort();
  component[field] = names.map((name) => ({ name, value: args[name] }));
}

function dropFalse(record: Fields, field: string): void {
  if (record[field] === false) delete record[field];
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 };

/** Whole seconds of a Go duration such as `1h30m0s`. */
function goSeconds(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)/g)];
  return Math.trunc(parts.reduce((sum, [, amount = "0", unit = "s"]) => sum + Number(amount) * (UNITS[unit] ?? 0), 0));
}

function parsed(text: string | undefined): Fields | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
