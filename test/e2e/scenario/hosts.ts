import { ApiError } from "../harness/api.ts";
import type { Api } from "../harness/api-types.ts";
import { type Following, follow } from "../harness/follow.ts";
import { type Fields, type Kind, type KubeObject, type ObjectRef, refOf, valueAt } from "../harness/objects.ts";
import { clonedFrom } from "./workers.ts";

export const hostKind: Kind = { apiVersion: "metal3.io/v1alpha1", kind: "BareMetalHost" };
const claimed = "metal3.io/BareMetalHost";
const savedStatus = "baremetalhost.metal3.io/status";
/** On a machine whose host has its image; there is none of that name in Metal3, whose conditions say it. */
const imageFetched = "e2e.capi-caretaker.io/image-fetched";

/** One try of a host to get an image, or its start from the beginning because its image was changed. */
export interface HostLog {
  namespace: string;
  host: string;
  url: string;
  outcome: "fetched" | "failed" | "started-again";
}

/** Stands where Metal3's host choice and the baremetal-operator stand: hosts are claimed and fetch their image. */
export interface Hosts {
  log: HostLog[];
  errors: unknown[];
}

/** A host that `clusterctl move` takes along, as Metal3's own CRD asks for. */
export function bareMetalHost(namespace: string, name: string): KubeObject {
  const labels = { "clusterctl.cluster.x-k8s.io/move": "" };
  return { ...hostKind, metadata: { name, namespace, labels }, spec: { online: true } };
}

/** Whether a machine that a template made still waits for its host; for `StandIn.holdProvisioning`. */
export function awaitsHost(machine: KubeObject): boolean {
  return clonedFrom(machine) !== undefined && machine.metadata.annotations?.[imageFetched] === undefined;
}

function provisioning(state: string, image?: unknown): Fields {
  const rest = { errorCount: 0, errorMessage: "", operationalStatus: "OK", poweredOn: true, provisioningFailCount: 0 };
  return { ...rest, provisioning: { ID: "", state, image: image ?? null } };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

/** Gives a machine the first free host and copies the image to it, as Metal3 does (cluster-api-provider-metal3 setHostSpec). */
async function claim(api: Api, machine: KubeObject, metal3Machine: Kind): Promise<boolean> {
  const { name, namespace = "" } = machine.metadata;
  const hosts = await api.list({ ...hostKind, namespace });
  const isFree = (host: KubeObject) => valueAt(host, "spec", "consumerRef") === undefined;
  const host =
    hosts.find((one) => valueAt(one, "spec", "consumerRef", "name") === name) ??
    hosts.find((one) => isFree(one) && valueAt(one, "spec", "image") === undefined);
  if (host === undefined) return false;
  const { url, checksum, checksumType } = valueAt(machine, "spec", "image") as Fields;
  const image = { url, checksum, checksumType, format: "qcow2" };
  const { resourceVersion = "" } = host.metadata;
  await api.mergePatch(refOf(host), {
    metadata: { resourceVersion },
    spec: { image, consumerRef: { ...metal3Machine, namespace, name } },
  });
  await api.mergePatch(refOf(machine), {
    metadata: { annotations: { [claimed]: `${namespace}/${host.metadata.name}` } },
  });
  return true;
}

/** Takes a host back from a machine that is gone. */
async function free(api: Api, { metadata }: KubeObject): Promise<void> {
  const { name, namespace = "" } = metadata;
  const hosts = await api.list({ ...hostKind, namespace });
  const host = hosts.find((one) => valueAt(one, "spec", "consumerRef", "name") === name);
  if (host === undefined) return;
  // In this order, or it would be provisioned again, or claimed with its old status.
  await api.mergePatch(refOf(host), { metadata: { annotations: { [savedStatus]: null } }, spec: { image: null } });
  await api.patchStatus(refOf(host), provisioning("available"));
  await api.mergePatch(refOf(host), { spec: { consumerRef: null } });
}

/** One turn of a host; false where it has to come again. */
async function turn(api: Api, host: KubeObject, log: HostLog[], machineKind: Kind): Promise<boolean> {
  const { name, namespace = "", annotations = {} } = host.metadata;
  const ref: ObjectRef = refOf(host);
  const image = valueAt(host, "spec", "image");
  const url = valueAt(image, "url");
  if (typeof url !== "string") return true;
  const done = valueAt(host, "status", "provisioning", "image", "url");
  const saved = annotations[savedStatus];
  if (done === url) return true;
  if (host.status === undefined && saved !== undefined) {
    await api.patchStatus(ref, JSON.parse(saved) as Fields);
    return true;
  }
  if (done !== undefined) {
    // A changed URL is a wish for another image (baremetal-operator imageProvisioningCancelled).
    log.push({ namespace, host: name, url, outcome: "started-again" });
    await api.patchStatus(ref, provisioning("deprovisioning"));
    return true;
  }
  const isThere = await answers(url);
  if (!isThere) {
    log.push({ namespace, host: name, url, outcome: "failed" });
    return false;
  }
  const status = provisioning("provisioned", image);
  await api.patchStatus(ref, status);
  await api.mergePatch(ref, { metadata: { annotations: { [savedStatus]: JSON.stringify(status) } } });
  const machine = { ...machineKind, namespace, name: String(valueAt(host, "spec", "consumerRef", "name")) };
  await api.mergePatch(machine, { metadata: { annotations: { [imageFetched]: url } } });
  log.push({ namespace, host: name, url, outcome: "fetched" });
  return true;
}

/** Starts it for all namespaces of a control plane. It ends at teardown. */
export function startHosts(api: Api, metal3Version: string): Hosts {
  const log: HostLog[] = [];
  const errors: unknown[] = [];
  const machineKind: Kind = { apiVersion: metal3Version, kind: "Metal3Machine" };
  const onError = (error: unknown): void => {
    if (!(error instanceof ApiError && [404, 409].includes(error.status))) errors.push(error);
  };
  // What cannot go on must not keep the others waiting, so it is looked at again later.
  const later = (following: Following): void => void setTimeout(() => following.again(), 500).unref();
  const machines = follow(
    api,
    machineKind,
    async ({ type, object }) => {
      if (type === "DELETED") return free(api, object);
      const { deletionTimestamp, annotations = {} } = object.metadata;
      if (deletionTimestamp !== undefined || !awaitsHost(object) || annotations[claimed] !== undefined) return;
      if (!(await claim(api, object, machineKind))) later(machines);
    },
    onError,
  );
  const hosts = follow(
    api,
    hostKind,
    async ({ type, object }) => {
      if (type !== "DELETED" && !(await turn(api, object, log, machineKind))) later(hosts);
    },
    onError,
  );
  return { log, errors };
}
