import { annotation, CLONED_FROM_GROUPKIND, CLONED_FROM_NAME } from "../marks/marks.ts";
import { canRefer, isSpecReader, isTemplateKind } from "../objects/kinds.ts";
import { type GroupKind, groupOf, type KubeObject, keyOf, type ObjectKey, parseGroupKind } from "../objects/object.ts";
import { type Found, isRecord, recordsIn, stringAt, valuesAt } from "../objects/path.ts";
import { REFERENCE_TABLE, type ReferenceRow, rowsOf } from "./reference-table.ts";

/** `referrer` names `target` at `path`. */
export interface Reference {
  readonly referrer: ObjectKey;
  readonly path: string;
  readonly target: ObjectKey;
}

/** A reference that does not say what it means; `mayMean` holds what it does say, and keeps whatever fits it. */
export interface UnreadableReference {
  readonly referrer: ObjectKey;
  readonly path: string;
  readonly reason: string;
  readonly mayMean: Partial<ObjectKey> & { readonly namespace: string };
}

export interface References {
  readonly readable: readonly Reference[];
  readonly unreadable: readonly UnreadableReference[];
}

/**
 * Everything an object names, in v1beta1 (apiVersion, kind, name, namespace) and v1beta2 (apiGroup, kind, name) shape:
 * the rows of the table, templates anywhere in the spec of core and control-plane kinds, and the cloned-from pair that
 * the CAPI contract puts on every clone. OwnerReferences are no use of a template and no reference here. Never throws.
 */
export function referencesOf(object: KubeObject): References {
  const key = keyOf(object);
  if (!canRefer(key)) return { readable: [], unreadable: [] };
  const byPath = new Map<string, Reference | UnreadableReference>();
  for (const row of rowsOf(key)) {
    for (const found of valuesAt(object, row.path)) add(byPath, read(key, found, row, object));
  }
  if (isSpecReader(key)) {
    for (const found of recordsIn(object.spec, "spec").filter(looksLikeTemplateReference)) {
      if (!byPath.has(found.path)) add(byPath, read(key, found));
    }
  }
  add(byPath, clonedFrom(object, key));
  const all = [...byPath.values()];
  return { readable: all.filter((one) => "target" in one), unreadable: all.filter((one) => "mayMean" in one) };
}

/** The templates an object names, in the order they stand. */
export function templatesNamedBy(object: KubeObject): readonly ObjectKey[] {
  return referencesOf(object)
    .readable.map(({ target }) => target)
    .filter(isTemplateKind);
}

/** Stands for every kind of a group, where a server keeps objects it does not serve and does not say of what kind. */
export const ANY_KIND = "*";

/** Whether objects of `referrer` can name templates of `target` at all: what a failed list of `referrer` leaves open. */
export function mayRefer(referrer: GroupKind, target: GroupKind): boolean {
  if (isSpecReader(referrer) || referrer.kind === ANY_KIND) return true;
  const isItsClone = target.group === referrer.group && target.kind === `${referrer.kind}Template`;
  return isItsClone || rowsOf(referrer).some((row) => row.target?.kind === target.kind);
}

/** Whether metadata alone decides what objects of this kind refer to: clones that only the contract knows. */
export function metadataSuffices(kind: GroupKind): boolean {
  return !isSpecReader(kind) && rowsOf(kind).length === 0;
}

/** Whether something that `reference` says fits this key. */
export function mayMean({ mayMean }: UnreadableReference, key: ObjectKey): boolean {
  const { group = key.group, kind = key.kind, name = key.name, namespace } = mayMean;
  return group === key.group && kind === key.kind && name === key.name && namespace === key.namespace;
}

/** The kinds outside the CAPI groups that the table points at, so that a missing target can be told from an unread one. */
export const FOREIGN_TARGETS: readonly GroupKind[] = REFERENCE_TABLE.flatMap(({ target }) => target ?? []).filter(
  (target) => !canRefer(target),
);

function add(byPath: Map<string, Reference | UnreadableReference>, one: Reference | UnreadableReference | undefined) {
  if (one !== undefined) byPath.set(one.path, one);
}

// A kind alone, outside the places that are known to hold a reference, is something else: the selector of a
// ClusterClass patch, say.
function looksLikeTemplateReference({ value }: Found): boolean {
  return isRecord(value) && typeof value.kind === "string" && value.kind.endsWith("Template") && isSaid(value.name);
}

function read(
  referrer: ObjectKey,
  { path, value }: Found,
  row?: ReferenceRow,
  object?: KubeObject,
): Reference | UnreadableReference | undefined {
  const own = referrer.namespace;
  const elsewhere = row?.namespacePath === undefined ? undefined : stringAt(object, row.namespacePath);
  if (value === "") return undefined;
  if (typeof value === "string") {
    return said(referrer, path, { ...row?.target, name: value, namespace: elsewhere || own });
  }
  if (!isRecord(value)) return { referrer, path, reason: "is no reference", mayMean: { namespace: own } };
  const { apiGroup, apiVersion, kind, name, namespace } = value;
  if ((isSaid(kind) || isSaid(name)) && text(kind) === undefined && text(name) === undefined) {
    return { referrer, path, reason: "is no reference", mayMean: { namespace: own } };
  }
  const group = text(apiGroup) ?? (text(apiVersion) === undefined ? undefined : groupOf(String(apiVersion)));
  const target = {
    group: group ?? row?.target?.group,
    kind: text(kind) ?? (name === undefined || name === "" ? undefined : row?.target?.kind),
    name: text(name),
    namespace: text(namespace) ?? own,
  };
  return said(referrer, path, target);
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function said(
  referrer: ObjectKey,
  path: string,
  target: { [field in keyof ObjectKey]?: string | undefined } & { namespace: string },
): Reference | UnreadableReference | undefined {
  const { group, kind, name, namespace } = target;
  if (!kind && !name) return undefined; // RKE2ControlPlane may carry `{}`
  if (kind && name && group !== undefined) return { referrer, path, target: { group, kind, namespace, name } };
  const lacking = [!kind && "kind", !name && "name", group === undefined && "group"].filter(Boolean).join(" and ");
  const mayMean = { namespace, ...(group !== undefined && { group }), ...(kind && { kind }), ...(name && { name }) };
  return { referrer, path, reason: `has no ${lacking}`, mayMean };
}

function clonedFrom(object: KubeObject, key: ObjectKey): Reference | UnreadableReference | undefined {
  // The topology controller notes on generated templates which class template they came from; that is history, not use.
  if (isTemplateKind(key)) return undefined;
  const name = annotation(object, CLONED_FROM_NAME) ?? "";
  const groupKind = annotation(object, CLONED_FROM_GROUPKIND) ?? "";
  const source = name === "" ? CLONED_FROM_GROUPKIND : CLONED_FROM_NAME;
  return said(key, `metadata.annotations[${source}]`, {
    ...parseGroupKind(groupKind),
    name,
    namespace: key.namespace,
  });
}
