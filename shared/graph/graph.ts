import { type KubeObject, keyOf, keyText, type ObjectKey } from "../objects/object.ts";
import { mayMean, type Reference, type References, referencesOf, type UnreadableReference } from "./references.ts";

/** Objects and what they name. It knows edges, never policy: whether an edge counts is decided elsewhere. */
export interface Graph {
  readonly objects: readonly KubeObject[];
  readonly references: readonly Reference[];
  readonly unreadable: readonly UnreadableReference[];
  get(key: ObjectKey): KubeObject | undefined;
  /** The references that name this key, whether anything stands there or not. */
  referrersOf(key: ObjectKey): readonly Reference[];
  /** The references that this object holds. */
  referencesFrom(key: ObjectKey): readonly Reference[];
  /** The references whose target does not exist. */
  missing(): readonly Reference[];
}

/** One object and what it names, read once. */
export interface Node {
  readonly object: KubeObject;
  readonly references: References;
}

/** The graph of whole objects, each given once. See `graphOf`. */
export function buildGraph(objects: readonly KubeObject[]): Graph {
  return graphOf(objects.map((object) => ({ object, references: referencesOf(object) })));
}

/**
 * Joins what was read of each object. Several references of one referrer to one target all stand, each with its path.
 * A reference that says kind and name but no group means every object that fits.
 */
export function graphOf(nodes: readonly Node[]): Graph {
  const objects = nodes.map(({ object }) => object);
  const byKey = new Map(objects.map((object) => [keyText(keyOf(object)), object]));
  const readable: Reference[] = [];
  const vague: UnreadableReference[] = [];
  for (const { references } of nodes) {
    for (const one of references.readable) readable.push(one);
    for (const one of references.unreadable) vague.push(one);
  }
  const unreadable: UnreadableReference[] = [];
  const meantBy = vague.length === 0 ? () => [] : resolver(objects);
  for (const one of vague) {
    const meant = meantBy(one);
    if (meant.length === 0) unreadable.push(one);
    else for (const reference of meant) readable.push(reference);
  }
  const byTarget = Map.groupBy(readable, ({ target }) => keyText(target));
  const byReferrer = Map.groupBy(readable, ({ referrer }) => keyText(referrer));
  return {
    objects,
    references: readable,
    unreadable,
    get: (key) => byKey.get(keyText(key)),
    referrersOf: (key) => byTarget.get(keyText(key)) ?? [],
    referencesFrom: (key) => byReferrer.get(keyText(key)) ?? [],
    missing: () => readable.filter(({ target }) => !byKey.has(keyText(target))),
  };
}

/** Finds what a reference without a group means among these objects. */
function resolver(objects: readonly KubeObject[]): (reference: UnreadableReference) => readonly Reference[] {
  const idOf = (kind: string, namespace: string, name: string) => `${kind}/${namespace}/${name}`;
  const byName = Map.groupBy(objects.map(keyOf), ({ kind, namespace, name }) => idOf(kind, namespace, name));
  return (reference) => {
    const { kind, name, namespace } = reference.mayMean;
    if (kind === undefined || name === undefined) return [];
    const { referrer, path } = reference;
    const meant = byName.get(idOf(kind, namespace, name)) ?? [];
    return meant.filter((key) => mayMean(reference, key)).map((target) => ({ referrer, path, target }));
  };
}
