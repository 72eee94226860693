import type { Api } from "../harness/api-types.ts";
import { type Fields, type Kind, type KubeObject, type ObjectRef, refOf, valueAt } from "../harness/objects.ts";
import { provisioning, savedStatus } from "./host-claims.ts";

/** On a machine whose host has its image; there is none of that name in Metal3, whose conditions say it. */
export const imageFetched = "e2e.capi-caretaker.io/image-fetched";

/** One try of a host to get an image, or its start from the beginning because its image was changed. */
export interface HostLog {
  namespace: string;
  host: string;
  url: string;
  outcome: "fetched" | "failed" | "started-again";
}

/** What a host's turn needs. */
export interface Surroundings {
  api: Api;
  log: HostLog[];
  machineKind: Kind;
  /** Does acts one after the other, where none may see the other's half. */
  alone: <T>(act: () => Promise<T>) => Promise<T>;
}

function fetchedUrl(host: KubeObject | undefined): unknown {
  return valueAt(host, "status", "provisioning", "image", "url");
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

/** Writes that a host has its image, unless it was released or wants another one by now, of which there is an event. */
async function keepImage(api: Api, ref: ObjectRef, url: string): Promise<boolean> {
  const live = await api.get(ref);
  const image = valueAt(live, "spec", "image");
  if (valueAt(image, "url") !== url || fetchedUrl(live) === url) return false;
  const status = provisioning("provisioned", image);
  await api.mergePatch(ref, { metadata: { annotations: { [savedStatus]: JSON.stringify(status) } } });
  await api.patchStatus(ref, status);
  return true;
}

/** Tells the machine of a host that its image is there. */
async function announce(api: Api, host: KubeObject, url: string, machineKind: Kind): Promise<void> {
  const { namespace = "" } = host.metadata;
  const machine = { ...machineKind, namespace, name: String(valueAt(host, "spec", "consumerRef", "name")) };
  // A move brings the hosts before the machines, which bring along what they were told.
  if ((await api.get(machine)) === undefined) return;
  await api.mergePatch(machine, { metadata: { annotations: { [imageFetched]: url } } });
}

/** One turn of a host; false where it has to come again. */
export async function turn({ api, log, machineKind, alone }: Surroundings, host: KubeObject): Promise<boolean> {
  const { name, namespace = "", annotations = {} } = host.metadata;
  const ref = refOf(host);
  const url = valueAt(host, "spec", "image", "url");
  if (typeof url !== "string") return true;
  const done = fetchedUrl(host);
  const saved = annotations[savedStatus];
  if (done === url) {
    await announce(api, host, url, machineKind);
    return true;
  }
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
  if (await alone(() => keepImage(api, ref, url))) log.push({ namespace, host: name, url, outcome: "fetched" });
  return true;
}
