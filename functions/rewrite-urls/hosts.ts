import { annotation } from "../../shared/marks/marks.ts";
import { type GroupKind, type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { isRecord, stringAt, valuesAt } from "../../shared/objects/path.ts";
import { METAL3_MACHINE } from "./carriers.ts";

export const BARE_METAL_HOST: GroupKind = { group: "metal3.io", kind: "BareMetalHost" };

/** On a Metal3Machine: "namespace/name" of the host it has claimed (cluster-api-provider-metal3 baremetal/). */
export const HOST = "metal3.io/BareMetalHost";
/** On a host that was moved: its status, until the controller there has put it back (baremetal-operator). */
const SAVED_STATUS = "baremetalhost.metal3.io/status";

/** What decides about a Metal3Machine's image, of one host. Hosts and machines are named "namespace/name" here. */
export interface Host {
  readonly name: string;
  /** The Metal3Machine that it names as its consumer. */
  readonly consumer: string | undefined;
  /** Whether it has an image or a custom deploy, in spec or status. */
  readonly hasImage: boolean;
}

/** The hosts of one look, to be found without looking at each. */
export interface Hosts {
  named(name: string): Host | undefined;
  consumedBy(machine: string): readonly Host[];
}

export function isHost(object: KubeObject): boolean {
  const { group, kind } = keyOf(object);
  return group === BARE_METAL_HOST.group && kind === BARE_METAL_HOST.kind;
}

/** Reads a BareMetalHost, which must be whole. */
export function hostFrom(object: KubeObject): Host {
  return { name: nameOf(object), consumer: consumerOf(object), hasImage: hasImage(object) };
}

/** Of several hosts with one name the last counts. */
export function indexHosts(hosts: Iterable<Host>): Hosts {
  const byName = new Map([...hosts].map((host) => [host.name, host]));
  const byConsumer = Map.groupBy(byName.values(), ({ consumer }) => consumer);
  return {
    named: (name) => byName.get(name),
    consumedBy: (machine) => byConsumer.get(machine) ?? [],
  };
}

/**
 * Whether a Metal3Machine's image still matters: Metal3 copies it to a host that has neither image nor custom deploy,
 * and never again. True for a machine without a host, and for one whose hosts all lack an image in spec and status;
 * false where its annotation names a host that is not among `hosts`.
 */
export function imageIsStillOpen(machine: KubeObject, hosts: Hosts): boolean {
  const claimed = annotation(machine, HOST);
  if (claimed) {
    const host = hosts.named(claimed.includes("/") ? claimed : `${keyOf(machine).namespace}/${claimed}`);
    if (host === undefined || host.hasImage) return false;
  }
  return !hosts.consumedBy(nameOf(machine)).some(({ hasImage }) => hasImage);
}

function consumerOf(host: KubeObject): string | undefined {
  const name = stringAt(host, "spec.consumerRef.name");
  if (!name || stringAt(host, "spec.consumerRef.kind") !== METAL3_MACHINE.kind) return undefined;
  return `${stringAt(host, "spec.consumerRef.namespace") || keyOf(host).namespace}/${name}`;
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

function nameOf(object: KubeObject): string {
  const { namespace, name } = keyOf(object);
  return `${namespace}/${name}`;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
