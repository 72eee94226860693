import { z } from "zod";

const OwnerReference = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string().optional(),
  controller: z.boolean().optional(),
});

const Metadata = z.looseObject({
  name: z.string().min(1),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().nullish(),
  labels: z.record(z.string(), z.string()).nullish(),
  annotations: z.record(z.string(), z.string()).nullish(),
  finalizers: z.array(z.string()).nullish(),
  ownerReferences: z.array(OwnerReference).nullish(),
  managedFields: z.array(z.looseObject({ manager: z.string().optional() })).nullish(),
});

/** Any Kubernetes object: what the API server promises of every one of them, the rest carried along unread. */
export const KubeObject = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: Metadata,
});

export type KubeObject = z.infer<typeof KubeObject>;
export type OwnerReference = z.infer<typeof OwnerReference>;

/** A kind without its version, because one object is served under several. */
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** What names one object for good: never a version. `namespace` is "" for cluster-scoped objects. */
export interface ObjectKey extends GroupKind {
  readonly namespace: string;
  readonly name: string;
}

/** The API group in an apiVersion: "" for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash === -1 ? "" : apiVersion.slice(0, slash);
}

export function keyOf(object: KubeObject): ObjectKey {
  const { name, namespace = "" } = object.metadata;
  return { group: groupOf(object.apiVersion), kind: object.kind, namespace, name };
}

/** One string per key, for maps and sets. Names and namespaces cannot hold a slash, so two keys never share one. */
export function keyText(key: ObjectKey): string {
  return `${key.group}/${key.kind}/${key.namespace}/${key.name}`;
}

/** "Kind.group", the form of the cloned-from-groupkind annotation (k8s.io/apimachinery GroupKind.String). */
export function groupKindText({ group, kind }: GroupKind): string {
  return group === "" ? kind : `${kind}.${group}`;
}

/** Reads "Kind.group" back, undefined where it names no kind. */
export function parseGroupKind(text: string): GroupKind | undefined {
  const dot = text.indexOf(".");
  const kind = dot === -1 ? text : text.slice(0, dot);
  return kind === "" ? undefined : { group: dot === -1 ? "" : text.slice(dot + 1), kind };
}

export function isTerminating(object: KubeObject): boolean {
  return Boolean(object.metadata.deletionTimestamp);
}
