/** Any JSON object of which a test knows no more. */
export type Fields = Record<string, unknown>;

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: Fields[];
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: Fields;
  status?: Fields;
  [field: string]: unknown;
}

export interface ObjectRef {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
}

export interface Kind {
  apiVersion: string;
  kind: string;
}

/** The reference that names an object. */
export function refOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): ObjectRef {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** The group of an apiVersion, "" for the core one. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

/** The resource name of a kind, guessed by the rule of English that Kubernetes' code generators use. */
export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (lower === "endpoints") return lower;
  if (/(s|x|z|ch|sh)$/.test(lower)) return `${lower}es`;
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`;
  return `${lower}s`;
}

/** The value at a path such as `["spec", "template", "spec"]`; undefined where a step is missing or no object. */
export function valueAt(object: unknown, ...path: (string | number)[]): unknown {
  let value: unknown = object;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Fields)[step];
  }
  return value;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

/** One of an object's `status.conditions`. */
export function conditionOf(object: KubeObject | undefined, type: string): Condition | undefined {
  const conditions = valueAt(object, "status", "conditions");
  return Array.isArray(conditions)
    ? (conditions as Condition[]).find((condition) => condition.type === type)
    : undefined;
}
