import { isRetired } from "../marks/marks.ts";
import { isTemplateKind } from "../objects/kinds.ts";
import { keyOf, keyText, type ObjectKey } from "../objects/object.ts";
import type { Graph } from "./graph.ts";
import type { Reference } from "./references.ts";

/** Which keys something that stays refers to, existing or not. */
export interface Needed {
  has(key: ObjectKey): boolean;
  /** The staying referrers of a key, each once; empty when it is not needed. */
  by(key: ObjectKey): readonly ObjectKey[];
  /** Whether this referrer's references count: it is no template, or not retired, or itself needed. */
  stays(key: ObjectKey): boolean;
}

/**
 * The least fixpoint of design.md: a referrer that is not a template stays, Terminating or not; so does a template
 * that is not retired; a retired template stays only while something that stays refers to it.
 *
 * @param isWhollySeen whether all that can refer to a template was looked at; one of which that is not known stays
 */
export function neededIn(graph: Graph, isWhollySeen: (key: ObjectKey) => boolean = () => true): Needed {
  const needed = new Set<string>();
  const isLeaving = new Set(
    graph.objects
      .filter((object) => isTemplateKind(keyOf(object)) && isRetired(object) && isWhollySeen(keyOf(object)))
      .map((object) => keyText(keyOf(object))),
  );
  const open: Reference[] = graph.references.filter(({ referrer }) => !isLeaving.has(keyText(referrer)));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const target = keyText(next.target);
    if (needed.has(target)) continue;
    needed.add(target);
    if (!isLeaving.has(target)) continue;
    for (const reference of graph.referencesFrom(next.target)) open.push(reference);
  }
  const stays = (key: ObjectKey) => !isLeaving.has(keyText(key)) || needed.has(keyText(key));
  return {
    has: (key) => needed.has(keyText(key)),
    by: (key) => {
      const referrers = graph.referrersOf(key).map(({ referrer }) => referrer);
      return [...new Map(referrers.filter(stays).map((referrer) => [keyText(referrer), referrer])).values()];
    },
    stays,
  };
}
