import { type KubeObject, keyOf, keyText, type ObjectKey } from "./object.ts";
import { mayMean, type Reference, referencesOf, type UnreadableReference } from "./references.ts";

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

/**
 * Reads every reference of `objects`, each object given once. Several references of one referrer to one target all
 * stand, each with its path. A reference that says kind and name but no group means every object that fits.
 */
export function buildGraph(objects: readonly KubeObject[]): Graph {
  const byKey = new Map(objects.map((object) => [keyText(keyOf(object)), object]));
  const keys = objects.map(keyOf);
  const readable: Reference[] = [];
  const unreadable: UnreadableReference[] = [];
  for (const object of objects) {
    const said = referencesOf(object);
    readable.push(...said.readable);
    for (const one of said.unreadable) {
      const meant = resolve(one, keys);
      if (meant.length === 0) unreadable.push(one);
      else readable.push(...meant);
    }
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

function resolve(reference: UnreadableReference, keys: readonly ObjectKey[]): readonly Reference[] {
  const { kind, name } = reference.mayMean;
  if (kind === undefined || name === undefined) return [];
  const { referrer, path } = reference;
  return keys.filter((key) => mayMean(reference, key)).map((target) => ({ referrer, path, target }));
}
