import { CONTROL_PLANE, CORE, INFRASTRUCTURE, METAL3_IPAM } from "../objects/kinds.ts";
import type { GroupKind } from "../objects/object.ts";

/**
 * One place where a kind names another object. A provider that follows the CAPI contract needs no row: its machines
 * carry the cloned-from annotations, and templates named in core and control-plane specs are found without one.
 */
export interface ReferenceRow {
  readonly referrer: GroupKind;
  /** Dotted, from the object's root; `[]` stands for every item of a list. */
  readonly path: string;
  /** The kind meant where the reference itself does not say: a bare `{name}` or a string. */
  readonly target?: GroupKind;
  /** Dotted path to the namespace meant, where it is not part of the reference. */
  readonly namespacePath?: string;
}

function rows(group: string, kind: string, paths: readonly string[], target?: GroupKind): readonly ReferenceRow[] {
  return paths.map((path) => ({ referrer: { group, kind }, path, ...(target && { target }) }));
}

const CLASS: GroupKind = { group: CORE, kind: "ClusterClass" };
const DATA_TEMPLATE: GroupKind = { group: INFRASTRUCTURE, kind: "Metal3DataTemplate" };
const DATA: GroupKind = { group: INFRASTRUCTURE, kind: "Metal3Data" };
const DATA_CLAIM: GroupKind = { group: INFRASTRUCTURE, kind: "Metal3DataClaim" };
const IP_POOL: GroupKind = { group: METAL3_IPAM, kind: "IPPool" };

const MACHINE_TEMPLATE = ["spec.template.spec.infrastructureRef", "spec.template.spec.bootstrap.configRef"];

// Paths of both API versions side by side (v1beta1 first): an object carries those of the version it was read at.
// Sources: cluster-api v1.14 api/**, cluster-api-provider-rke2 v0.25, cluster-api-provider-metal3 v1.10 and v1.13.
const CLUSTER_API: readonly ReferenceRow[] = [
  ...rows(CORE, "Cluster", [
    "spec.infrastructureRef",
    "spec.controlPlaneRef",
    "spec.topology.controlPlane.machineHealthCheck.remediationTemplate",
    "spec.topology.workers.machineDeployments[].machineHealthCheck.remediationTemplate",
    "spec.topology.controlPlane.healthCheck.remediation.templateRef",
    "spec.topology.workers.machineDeployments[].healthCheck.remediation.templateRef",
  ]),
  {
    referrer: { group: CORE, kind: "Cluster" },
    path: "spec.topology.class",
    target: CLASS,
    namespacePath: "spec.topology.classNamespace",
  },
  ...rows(CORE, "Cluster", ["spec.topology.classRef"], CLASS),
  ...rows(CORE, "Machine", ["spec.infrastructureRef", "spec.bootstrap.configRef"]),
  ...rows(CORE, "MachineSet", MACHINE_TEMPLATE),
  ...rows(CORE, "MachineDeployment", MACHINE_TEMPLATE),
  ...rows(CORE, "MachinePool", MACHINE_TEMPLATE),
  ...rows(CORE, "MachineHealthCheck", ["spec.remediationTemplate", "spec.remediation.templateRef"]),
  ...rows(CORE, "ClusterClass", [
    "spec.infrastructure.ref",
    "spec.controlPlane.ref",
    "spec.controlPlane.machineInfrastructure.ref",
    "spec.controlPlane.machineHealthCheck.remediationTemplate",
    "spec.workers.machineDeployments[].template.bootstrap.ref",
    "spec.workers.machineDeployments[].template.infrastructure.ref",
    "spec.workers.machineDeployments[].machineHealthCheck.remediationTemplate",
    "spec.workers.machinePools[].template.bootstrap.ref",
    "spec.workers.machinePools[].template.infrastructure.ref",
    "spec.infrastructure.templateRef",
    "spec.controlPlane.templateRef",
    "spec.controlPlane.machineInfrastructure.templateRef",
    "spec.controlPlane.healthCheck.remediation.templateRef",
    "spec.workers.machineDeployments[].bootstrap.templateRef",
    "spec.workers.machineDeployments[].infrastructure.templateRef",
    "spec.workers.machineDeployments[].healthCheck.remediation.templateRef",
    "spec.workers.machinePools[].bootstrap.templateRef",
    "spec.workers.machinePools[].infrastructure.templateRef",
  ]),
  ...rows(CONTROL_PLANE, "KubeadmControlPlane", [
    "spec.machineTemplate.infrastructureRef",
    "spec.machineTemplate.spec.infrastructureRef",
  ]),
  ...rows(CONTROL_PLANE, "RKE2ControlPlane", [
    "spec.infrastructureRef",
    "spec.machineTemplate.infrastructureRef",
    "spec.machineTemplate.spec.infrastructureRef",
  ]),
];

const POOL_LISTS = ["ipAddresses", "prefixes", "gateways", "dnsServers"].flatMap((what) => [
  `spec.metaData.${what}FromIPPool[]`,
  `spec.metaData.${what}FromPool[]`,
]);

const ROUTED_NETWORKS = ["ipv4", "ipv6", "ipv4DHCP", "ipv6DHCP", "ipv6SLAAC"];

const POOL_FIELDS = [
  "spec.networkData.services.dnsFromIPPool",
  ...["ipv4", "ipv6"].flatMap((network) => [
    `spec.networkData.networks.${network}[].ipAddressFromIPPool`,
    `spec.networkData.networks.${network}[].fromPoolRef`,
  ]),
  ...ROUTED_NETWORKS.flatMap((network) => [
    `spec.networkData.networks.${network}[].routes[].gateway.fromIPPool`,
    `spec.networkData.networks.${network}[].routes[].gateway.fromPoolRef`,
    `spec.networkData.networks.${network}[].routes[].services.dnsFromIPPool`,
  ]),
];

const METAL3: readonly ReferenceRow[] = [
  ...rows(INFRASTRUCTURE, "Metal3MachineTemplate", ["spec.template.spec.dataTemplate"], DATA_TEMPLATE),
  ...rows(INFRASTRUCTURE, "Metal3Machine", ["spec.dataTemplate"], DATA_TEMPLATE),
  ...rows(INFRASTRUCTURE, "Metal3Machine", ["status.renderedData"], DATA),
  ...rows(INFRASTRUCTURE, "Metal3DataClaim", ["spec.template"], DATA_TEMPLATE),
  ...rows(INFRASTRUCTURE, "Metal3DataClaim", ["status.renderedData"], DATA),
  ...rows(INFRASTRUCTURE, "Metal3Data", ["spec.template"], DATA_TEMPLATE),
  ...rows(INFRASTRUCTURE, "Metal3Data", ["spec.claim"], DATA_CLAIM),
  ...rows(INFRASTRUCTURE, "Metal3DataTemplate", [...POOL_LISTS, ...POOL_FIELDS], IP_POOL),
];

/** Every known reference beyond the CAPI contract, as data. */
export const REFERENCE_TABLE: readonly ReferenceRow[] = [...CLUSTER_API, ...METAL3];

const BY_REFERRER = Map.groupBy(REFERENCE_TABLE, ({ referrer }) => `${referrer.group}/${referrer.kind}`);

/** The rows of one referrer kind, by group and kind. */
export function rowsOf({ group, kind }: GroupKind): readonly ReferenceRow[] {
  return BY_REFERRER.get(`${group}/${kind}`) ?? [];
}
