import { rowsOf } from "../../shared/graph/reference-table.ts";
import { BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE, isTemplateKind } from "../../shared/objects/kinds.ts";
import type { GroupKind } from "../../shared/objects/object.ts";

/** The kinds that a provider's own CustomResourceDefinitions bring into the groups of Cluster API, by group. */
const PROVIDERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  core: {
    [CORE]: [
      "Cluster",
      "ClusterClass",
      "Machine",
      "MachineDeployment",
      "MachineDrainRule",
      "MachineHealthCheck",
      "MachinePool",
      "MachineSet",
    ],
  },
  kubeadm: {
    [BOOTSTRAP]: ["KubeadmConfig", "KubeadmConfigTemplate"],
    [CONTROL_PLANE]: ["KubeadmControlPlane", "KubeadmControlPlaneTemplate"],
  },
  rke2: {
    [BOOTSTRAP]: ["RKE2Config", "RKE2ConfigTemplate"],
    [CONTROL_PLANE]: ["RKE2ControlPlane", "RKE2ControlPlaneTemplate"],
  },
  metal3: {
    [INFRASTRUCTURE]: [
      "Metal3Cluster",
      "Metal3ClusterTemplate",
      "Metal3Data",
      "Metal3DataClaim",
      "Metal3DataTemplate",
      "Metal3Machine",
      "Metal3MachineTemplate",
      "Metal3Remediation",
      "Metal3RemediationTemplate",
    ],
  },
  docker: {
    [INFRASTRUCTURE]: [
      "DevCluster",
      "DevClusterTemplate",
      "DevMachine",
      "DevMachinePool",
      "DevMachinePoolTemplate",
      "DevMachineTemplate",
      "DockerCluster",
      "DockerClusterTemplate",
      "DockerMachine",
      "DockerMachinePool",
      "DockerMachinePoolTemplate",
      "DockerMachineTemplate",
    ],
  },
  vsphere: {
    [INFRASTRUCTURE]: [
      "VSphereCluster",
      "VSphereClusterIdentity",
      "VSphereClusterTemplate",
      "VSphereDeploymentZone",
      "VSphereFailureDomain",
      "VSphereMachine",
      "VSphereMachineTemplate",
      "VSphereVM",
    ],
  },
  openstack: {
    [INFRASTRUCTURE]: [
      "OpenStackCluster",
      "OpenStackClusterIdentity",
      "OpenStackClusterTemplate",
      "OpenStackFloatingIPPool",
      "OpenStackMachine",
      "OpenStackMachineTemplate",
      "OpenStackServer",
    ],
  },
  aws: {
    [INFRASTRUCTURE]: [
      "AWSCluster",
      "AWSClusterControllerIdentity",
      "AWSClusterRoleIdentity",
      "AWSClusterStaticIdentity",
      "AWSClusterTemplate",
      "AWSFargateProfile",
      "AWSMachine",
      "AWSMachinePool",
      "AWSMachineTemplate",
      "AWSManagedCluster",
      "AWSManagedClusterTemplate",
      "AWSManagedMachinePool",
      "ROSACluster",
      "ROSAMachinePool",
      "ROSANetwork",
      "ROSARoleConfig",
    ],
    [BOOTSTRAP]: ["EKSConfig", "EKSConfigTemplate", "NodeadmConfig", "NodeadmConfigTemplate"],
    [CONTROL_PLANE]: ["AWSManagedControlPlane", "AWSManagedControlPlaneTemplate", "ROSAControlPlane"],
  },
};

export const PROVIDER_NAMES = Object.keys(PROVIDERS);

/** All kinds of a provider, or of all of them. */
export function kindsOf(...providers: readonly string[]): readonly GroupKind[] {
  const names = providers.length === 0 ? PROVIDER_NAMES : providers;
  return names.flatMap((name) =>
    Object.entries(PROVIDERS[name] ?? {}).flatMap(([group, kinds]) => kinds.map((kind) => ({ group, kind }))),
  );
}

/**
 * The kinds of a component whose events can matter: templates, what is cloned from them, what the reference table
 * knows, and control planes, in whose specs a template may be named anywhere.
 */
export function watchedBy(component: string): readonly GroupKind[] {
  const all = kindsOf(component.replace(/-v\w+$/, ""));
  return all.filter((kind) => {
    const isCloned = all.some((one) => one.group === kind.group && one.kind === `${kind.kind}Template`);
    return isTemplateKind(kind) || isCloned || rowsOf(kind).length > 0 || kind.group === CONTROL_PLANE;
  });
}

/** As the source's adapter guesses it from the kind, and as all of these CustomResourceDefinitions have it. */
export function pluralOf({ kind }: GroupKind): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith("s")) return `${singular}es`;
  return singular.endsWith("y") ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}
