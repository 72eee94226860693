import { createHash } from "node:crypto";
import type { Fields, Metadata, OwnerReference } from "../../e2e/harness/objects.ts";

export const namespace = "bench";
export const core = "cluster.x-k8s.io/v1beta2";
export const bootstrap = "bootstrap.cluster.x-k8s.io/v1beta2";
export const controlPlane = "controlplane.cluster.x-k8s.io/v1beta2";
export const metal3 = "infrastructure.cluster.x-k8s.io/v1beta1";

/** The kinds of a generated cluster. */
export type GeneratedKind =
  | "Cluster"
  | "Metal3Cluster"
  | "KubeadmControlPlane"
  | "MachineDeployment"
  | "MachineSet"
  | "Machine"
  | "Metal3Machine"
  | "KubeadmConfig"
  | "Metal3MachineTemplate"
  | "KubeadmConfigTemplate"
  | "Metal3DataTemplate";

/** When everything was made, and when what is retired was retired. */
export const bornAt = "2026-01-01T00:00:00Z";

/** The uid of an object, the same in every run: out of its kind and name. */
export function uidOf(kind: GeneratedKind, name: string): string {
  const digits = createHash("sha1").update(`${kind}/${name}`).digest("hex");
  return [0, 8, 12, 16, 20].map((from, at) => digits.slice(from, [8, 12, 16, 20, 32][at])).join("-");
}

/** A controlling ownerReference to a generated object. */
export function ownedBy(apiVersion: string, kind: GeneratedKind, name: string, controller = true): OwnerReference {
  return {
    apiVersion,
    kind,
    name,
    uid: uidOf(kind, name),
    ...(controller ? { controller, blockOwnerDeletion: true } : {}),
  };
}

/** Metadata as a server would have set them, with the managedFields of one manager. */
export function metadataOf(kind: GeneratedKind, apiVersion: string, name: string, rest: Partial<Metadata>): Metadata {
  const managed = (part: string): Fields => ({ [part]: {} });
  return {
    name,
    namespace,
    uid: uidOf(kind, name),
    generation: 1,
    creationTimestamp: bornAt,
    ...rest,
    managedFields: [
      {
        manager: "manager",
        operation: "Update",
        apiVersion,
        time: bornAt,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:metadata": { ...managed("f:annotations"), ...managed("f:labels") }, ...managed("f:spec") },
      },
    ],
  };
}
