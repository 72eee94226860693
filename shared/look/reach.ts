import type { ServedKind } from "../cluster/cluster.ts";
import { rowsOf } from "../graph/reference-table.ts";
import { mayRefer, metadataSuffices } from "../graph/references.ts";
import { CLUSTER, CONTROL_PLANE, CORE, canRefer, isTemplateKind } from "../objects/kinds.ts";
import { type GroupKind, groupKindText, type ObjectKey } from "../objects/object.ts";

/** One list of a look. Without a namespace it is of all. */
export interface Listing {
  readonly kind: ServedKind;
  readonly namespace?: string;
}

/** Every list that can bear on a template: all kinds that can refer, in all namespaces. */
export function everywhere(served: readonly ServedKind[]): readonly Listing[] {
  return served.filter((kind) => kind.namespaced && canRefer(kind)).map((kind) => ({ kind }));
}

/**
 * The lists that can bear on these templates: their own kinds, those that can refer to them, and where those are templates
 * too, which may be retired, those that can refer to them in turn; each in the templates' namespaces, and in all of
 * them where its reference can say a namespace. A retired template elsewhere that refers to one of these is seen, what needs it is not:
 * see `isWhollySeen`. Clusters, which decide about what is theirs, wherever they are.
 */
export function reachOf(templates: readonly ObjectKey[], served: readonly ServedKind[]): readonly Listing[] {
  const kinds = served.filter((kind) => kind.namespaced && canRefer(kind));
  const listed = new Map<string, Listing>();
  const list = (kind: ServedKind, namespace?: string) =>
    listed.set(idOf(kind, namespace), { kind, ...(namespace !== undefined && { namespace }) });
  for (const kind of kinds.filter((one) => isSame(one, CLUSTER))) list(kind);
  for (const target of chainOf(templates, kinds)) {
    const { namespace } = target;
    for (const kind of kinds) {
      if (isSame(kind, target)) list(kind, namespace);
      if (mayRefer(kind, target)) list(kind, saysNamespace(kind, target) ? undefined : namespace);
    }
  }
  return [...listed.values()].filter(({ kind, namespace }) => namespace === undefined || !listed.has(idOf(kind)));
}

type Target = GroupKind & { readonly namespace: string };

/** These templates and those kinds of templates in their namespaces that may refer to them, however far removed. */
function chainOf(templates: readonly ObjectKey[], kinds: readonly ServedKind[]): readonly Target[] {
  const chain = new Map<string, Target>();
  const follow = (target: Target): void => {
    const { group, kind, namespace } = target;
    if (chain.has(idOf(target, namespace))) return;
    chain.set(idOf(target, namespace), { group, kind, namespace });
    for (const one of kinds.filter((one) => isTemplateKind(one) && mayRefer(one, target)))
      follow({ ...one, namespace });
  };
  templates.forEach(follow);
  return [...chain.values()];
}

/** Whether a look at these templates shows all that can refer to this key: their namespaces are seen whole. */
export function isWhollySeen(templates: readonly ObjectKey[]): (key: ObjectKey) => boolean {
  const namespaces = new Set(templates.map(({ namespace }) => namespace));
  return ({ namespace }) => namespaces.has(namespace);
}

/**
 * Whether a reference of this kind can name a namespace other than its own. A clone's annotations cannot, and since
 * v1beta2 no reference of Cluster API's own kinds to a template can (api/core/v1beta2/common_types.go,
 * ContractVersionedObjectReference).
 */
function saysNamespace(referrer: ServedKind, target: GroupKind): boolean {
  if (metadataSuffices(referrer)) return false;
  if (referrer.group === CORE) return /^v1(alpha\d+|beta1)$/.test(referrer.version);
  if (referrer.group === CONTROL_PLANE || isTemplateKind(referrer)) return true;
  return rowsOf(referrer).some((row) => row.target?.kind === target.kind);
}

function isSame(a: GroupKind, b: GroupKind): boolean {
  return a.group === b.group && a.kind === b.kind;
}

function idOf(kind: GroupKind, namespace = "*"): string {
  return `${groupKindText(kind)} ${namespace}`;
}
