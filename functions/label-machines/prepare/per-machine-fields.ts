import { INFRASTRUCTURE } from "../../../shared/objects/kinds.ts";
import { isRecord } from "../../../shared/objects/path.ts";
import type { Fields } from "../forecast/fields.ts";

/**
 * What belongs to one machine alone and has no place in a template, per kind of infrastructure machine: identities,
 * host names and addresses, rendered data. Dotted below `spec`; `[]` stands for every item of a list. Sources: the
 * providers' template webhooks ("cannot be set in templates") and types, as far as they are read in the design facts.
 */
const PER_MACHINE: Readonly<Record<string, readonly string[]>> = {
  // Rendered from the data template and the bootstrap data (cluster-api-provider-metal3 v1.13).
  Metal3Machine: ["providerID", "userData", "metaData", "networkData"],
  // cluster-api test/infrastructure/docker v1.14; DevMachine is its successor.
  DockerMachine: ["providerID", "bootstrapped"],
  DevMachine: ["providerID", "backend.docker.bootstrapped"],
  // cluster-api-provider-vsphere v1beta1 and v1beta2.
  VSphereMachine: ["providerID", "failureDomain", "network.devices[].ipAddrs", "network.devices[].macAddr"],
  // cluster-api-provider-openstack v1alpha7 and v1beta1.
  OpenStackMachine: ["providerID", "instanceID", "floatingIP", "ports[].fixedIPs[].ipAddress", "ports[].macAddress"],
  // cluster-api-provider-aws v1beta2.
  AWSMachine: ["providerID", "instanceID", "cloudInit.secretPrefix", "cloudInit.secretCount", "networkInterfaces"],
};

/** The contract's own per-machine field, for the kinds that the table does not know. */
const OF_EVERY_MACHINE = ["providerID"];

/** A copy of an infrastructure machine's spec without what belongs to that machine alone. */
export function templateSpecOf(group: string, kind: string, spec: Fields): Fields {
  const copy = structuredClone(spec);
  const paths = group === INFRASTRUCTURE ? (PER_MACHINE[kind] ?? OF_EVERY_MACHINE) : OF_EVERY_MACHINE;
  for (const path of paths) removeEach(copy, path.split("."));
  return copy;
}

function removeEach(at: unknown, [step = "", ...rest]: readonly string[]): void {
  if (!isRecord(at)) return;
  if (rest.length === 0) {
    delete at[step];
    return;
  }
  const isList = step.endsWith("[]");
  const value = at[isList ? step.slice(0, -2) : step];
  for (const item of isList && Array.isArray(value) ? value : [value]) removeEach(item, rest);
  // A record that held nothing else says nothing.
  if (isRecord(value) && Object.keys(value).length === 0) delete at[step];
}
