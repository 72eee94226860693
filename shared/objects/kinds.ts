import type { GroupKind } from "./object.ts";

export const CORE = "cluster.x-k8s.io";
export const INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io";
export const BOOTSTRAP = "bootstrap.cluster.x-k8s.io";
export const CONTROL_PLANE = "controlplane.cluster.x-k8s.io";
export const METAL3_IPAM = "ipam.metal3.io";

export const CLUSTER: GroupKind = { group: CORE, kind: "Cluster" };
export const NAMESPACE: GroupKind = { group: "", kind: "Namespace" };

const TEMPLATE_GROUPS: ReadonlySet<string> = new Set([INFRASTRUCTURE, BOOTSTRAP, CONTROL_PLANE]);

/** A template in the sense of this project: a kind that ends in "Template" in one of the three provider groups. */
export function isTemplateKind({ group, kind }: GroupKind): boolean {
  return kind.endsWith("Template") && TEMPLATE_GROUPS.has(group);
}

/** Groups in whose specs any `{kind: …Template, name}` is a reference, listed in the table or not. */
export function isSpecReader({ group }: GroupKind): boolean {
  return group === CORE || group === CONTROL_PLANE;
}

/** Kinds that can hold a reference this project follows: those of the CAPI groups, whoever provides them. */
export function canRefer(kind: GroupKind): boolean {
  return kind.group === CORE || TEMPLATE_GROUPS.has(kind.group);
}
