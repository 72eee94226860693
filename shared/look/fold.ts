import type { Node } from "../graph/graph.ts";
import { clustersNamedBy } from "../graph/owning-clusters.ts";
import { type References, referencesOf } from "../graph/references.ts";
import { CONTROL_PLANE, CORE, isTemplateKind } from "../objects/kinds.ts";
import { type GroupKind, isTerminating, type KubeObject, keyOf, keyText } from "../objects/object.ts";
import { isRecord } from "../objects/path.ts";

/** How many of those that count alike are held: more than one, so that people see a few and a witness has a successor. */
const FEW = 3;

/** Takes objects in, one by one, and holds of each no more than what decides about templates. */
export interface Fold {
  add(object: KubeObject): void;
  nodes(): readonly Node[];
}

/** Holds every object, of each its metadata and all that it names. */
export function foldAll(): Fold {
  const nodes: Node[] = [];
  return {
    add: (object) => nodes.push({ object: compact(object), references: referencesOf(object) }),
    nodes: () => nodes,
  };
}

/**
 * Holds what decides about templates alone: every template, Cluster, control plane and owner spec, and of machines and
 * their configs those that name a template. However many of the latter count alike (the same kind, templates, Clusters,
 * Terminating or not), the youngest few stand for all of them, so that what is held grows with the templates.
 */
export function foldForTemplates(): Fold {
  const nodes: Node[] = [];
  const alike = new Map<string, Node[]>();
  return {
    add(object) {
      const key = keyOf(object);
      const references = namingTemplates(referencesOf(object));
      if (!isOneOfMany(key) || references.unreadable.length > 0) {
        nodes.push({ object: compact(object), references });
      } else if (references.readable.length > 0) {
        const id = likenessOf(object, references);
        const held = alike.get(id);
        if (held === undefined) alike.set(id, [{ object: compact(object), references }]);
        else hold(held, object, references);
      }
    },
    nodes: () => [...nodes, ...[...alike.values()].flat()],
  };
}

/** Kinds that never ask for a template anew, and whose single objects no decision is about: machines and configs. */
function isOneOfMany(kind: GroupKind): boolean {
  if (isTemplateKind(kind) || kind.group === CONTROL_PLANE) return false;
  return kind.group !== CORE || kind.kind === "Machine";
}

function namingTemplates({ readable, unreadable }: References): References {
  return { readable: readable.filter(({ target }) => isTemplateKind(target)), unreadable };
}

function likenessOf(object: KubeObject, { readable }: References): string {
  const { group, kind, namespace } = keyOf(object);
  const clusters = clustersNamedBy(object).map(({ name }) => name);
  const targets = readable.map(({ path, target }) => `${path}=${keyText(target)}`);
  return [group, kind, namespace, isTerminating(object), ...clusters, ...targets].join("\n");
}

function hold(held: Node[], object: KubeObject, references: References): void {
  if (held.length === FEW) {
    const oldest = held.reduce((a, b) => (bornAt(b.object) < bornAt(a.object) ? b : a));
    if (bornAt(object) <= bornAt(oldest.object)) return;
    held.splice(held.indexOf(oldest), 1);
  }
  held.push({ object: compact(object), references });
}

// RFC 3339 in UTC with whole seconds sorts as text.
function bornAt({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? "";
}

function compact(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec } = object;
  // A template's tell who owns which of its fields.
  const { managedFields: _, ...rest } = metadata;
  const held = { apiVersion, kind, metadata: isTemplateKind(keyOf(object)) ? metadata : rest };
  if (!isRecord(spec)) return held;
  const { paused, clusterName } = spec;
  return {
    ...held,
    spec: { ...(paused !== undefined && { paused }), ...(clusterName !== undefined && { clusterName }) },
  };
}
