import { groupOf, type KubeObject, type OwnerReference } from "../../../shared/objects/object.ts";
import { isRecord, stringAt, valuesAt } from "../../../shared/objects/path.ts";

/** A reference in v1beta1 (apiVersion, kind, name) or v1beta2 (apiGroup, kind, name) shape. */
export interface Ref {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

/** The reference at a dotted path; undefined where there is none that names a kind and an object. */
export function refAt(object: KubeObject, path: string): Ref | undefined {
  const value = valuesAt(object, path)[0]?.value;
  if (!isRecord(value)) return undefined;
  const { apiGroup, apiVersion, kind, name } = value;
  if (typeof kind !== "string" || typeof name !== "string" || kind === "" || name === "") return undefined;
  return { group: typeof apiGroup === "string" ? apiGroup : groupOf(String(apiVersion ?? "")), kind, name };
}

/** The first reference that stands at one of these paths: one field, moved between API versions. */
export function refAtOneOf(object: KubeObject, ...paths: readonly string[]): Ref | undefined {
  return paths.map((path) => refAt(object, path)).find((ref) => ref !== undefined);
}

/** The infrastructure template that a KubeadmControlPlane names, at v1beta2's path or v1beta1's. */
export function templateRefOf(controlPlane: KubeObject): Ref | undefined {
  return refAtOneOf(
    controlPlane,
    "spec.machineTemplate.spec.infrastructureRef",
    "spec.machineTemplate.infrastructureRef",
  );
}

export function numberAt(object: KubeObject, ...paths: readonly string[]): number | undefined {
  return paths.map((path) => valuesAt(object, path)[0]?.value).find((value) => typeof value === "number");
}

export function textAt(object: KubeObject, ...paths: readonly string[]): string | undefined {
  return paths.map((path) => stringAt(object, path)).find((text) => text !== undefined && text !== "");
}

export function isTrueAt(object: KubeObject, ...paths: readonly string[]): boolean {
  return paths.some((path) => valuesAt(object, path)[0]?.value === true);
}

/** The owner that manages this object, by the API server's rule: there is at most one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** Whether `owner` means this object: by group, kind and name, and by uid where both say one. */
export function isMeant(owner: OwnerReference, object: KubeObject): boolean {
  const { name, uid } = object.metadata;
  const isSame = owner.kind === object.kind && groupOf(owner.apiVersion) === groupOf(object.apiVersion);
  return isSame && owner.name === name && (owner.uid === undefined || uid === undefined || owner.uid === uid);
}

/** Whether two objects of one kind are served in the older API version. */
export function isV1beta1({ apiVersion }: KubeObject): boolean {
  return apiVersion.endsWith("/v1beta1");
}
