import type { Graph } from "../../shared/graph.ts";
import { annotation } from "../../shared/marks.ts";
import { type GroupKind, type KubeObject, keyOf } from "../../shared/object.ts";
import { isRecord, stringAt, valuesAt } from "../../shared/path.ts";
import { METAL3_MACHINE } from "./carriers.ts";

export const BARE_METAL_HOST: GroupKind = { group: "metal3.io", kind: "BareMetalHost" };

/** On a Metal3Machine: "namespace/name" of the host it has claimed (cluster-api-provider-metal3 baremetal/). */
export const HOST = "metal3.io/BareMetalHost";
/** On a host that was moved: its status, until the controller there has put it back (baremetal-operator). */
const SAVED_STATUS = "baremetalhost.metal3.io/status";

/**
 * Whether a Metal3Machine's image still matters: Metal3 copies it to a host that has neither image nor custom deploy,
 * and never again. True for a machine without a host, and for one whose hosts all lack an image in spec and status;
 * false where its annotation names a host that `graph` does not hold. `graph` must hold the BareMetalHosts.
 */
export function imageIsStillOpen(machine: KubeObject, graph: Graph): boolean {
  const hosts = graph.objects.filter((object) => isHost(object) && isHostOf(object, machine));
  const claimed = annotation(machine, HOST);
  const isKnown = !claimed || hosts.some((host) => hostName(host) === nameIn(claimed, machine));
  return isKnown && !hosts.some(hasImage);
}

function isHost(object: KubeObject): boolean {
  const { group, kind } = keyOf(object);
  return group === BARE_METAL_HOST.group && kind === BARE_METAL_HOST.kind;
}

function isHostOf(host: KubeObject, machine: KubeObject): boolean {
  const claimed = annotation(machine, HOST);
  if (claimed && hostName(host) === nameIn(claimed, machine)) return true;
  const key = keyOf(machine);
  return (
    stringAt(host, "spec.consumerRef.kind") === METAL3_MACHINE.kind &&
    stringAt(host, "spec.consumerRef.name") === key.name &&
    (stringAt(host, "spec.consumerRef.namespace") || keyOf(host).namespace) === key.namespace
  );
}

function hasImage(host: KubeObject): boolean {
  const saved = parsed(annotation(host, SAVED_STATUS));
  return [
    ...valuesAt(host, "spec.image"),
    ...valuesAt(host, "spec.customDeploy"),
    ...valuesAt(host, "status.provisioning.image"),
    ...valuesAt(host, "status.provisioning.customDeploy"),
    ...valuesAt(saved, "provisioning.image"),
  ].some(({ value }) => isRecord(value) && Object.values(value).some(Boolean));
}

function hostName(host: KubeObject): string {
  const { namespace, name } = keyOf(host);
  return `${namespace}/${name}`;
}

function nameIn(claimed: string, machine: KubeObject): string {
  return claimed.includes("/") ? claimed : `${keyOf(machine).namespace}/${claimed}`;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
