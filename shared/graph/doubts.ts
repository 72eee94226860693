import { isRetired } from "../marks/marks.ts";
import { isTemplateKind } from "../objects/kinds.ts";
import { type GroupKind, groupKindText, keyOf, keyText, type ObjectKey } from "../objects/object.ts";
import type { Graph } from "./graph.ts";
import type { Needed } from "./needed.ts";
import { mayMean, mayRefer, type UnreadableReference } from "./references.ts";

/** A kind that is served but could not be read, and what the server said. */
export interface UnreadKind extends GroupKind {
  readonly reason: string;
}

/** Why it is unknown whether a template is needed; it stays until that is known. */
export type Doubt =
  | {
      readonly because: "unreadable-reference";
      readonly by: readonly ObjectKey[];
      readonly path: string;
      readonly reason: string;
    }
  | { readonly because: "unreadable-kind"; readonly by: readonly ObjectKey[]; readonly reason: string };

/**
 * What is unknown about the retired templates that nothing is known to need. A doubt about one template is a doubt
 * about every template it names in turn, and about every template it might name.
 */
export function doubtsIn(
  graph: Graph,
  needed: Needed,
  unread: readonly UnreadKind[],
): (key: ObjectKey) => Doubt | undefined {
  const open = graph.objects
    .filter((object) => isTemplateKind(keyOf(object)) && isRetired(object) && !needed.has(keyOf(object)))
    .map(keyOf);
  const vagueIn = Map.groupBy(
    graph.unreadable.filter(({ referrer }) => needed.stays(referrer)),
    meaningText,
  );
  const vagueOf = Map.groupBy(graph.unreadable, ({ referrer }) => keyText(referrer));
  const openIn = Map.groupBy(
    open.flatMap((key) => meaningsOf(key).map((meaning) => ({ meaning, key }))),
    ({ meaning }) => meaning,
  );
  const doubts = new Map<string, Doubt>();
  const doubt = (key: ObjectKey, why: Doubt): void => {
    if (doubts.has(keyText(key))) return;
    doubts.set(keyText(key), why);
    for (const { target } of graph.referencesFrom(key)) doubt(target, { ...why, by: [key] });
    for (const vague of vagueOf.get(keyText(key)) ?? []) {
      const meant = (openIn.get(meaningText(vague)) ?? []).filter((one) => mayMean(vague, one.key));
      for (const one of meant) doubt(one.key, unreadableReference(vague));
    }
  };
  for (const key of open) {
    const vague = meaningsOf(key)
      .flatMap((meaning) => vagueIn.get(meaning) ?? [])
      .find((one) => mayMean(one, key));
    const kind = unread.find((one) => mayRefer(one, key));
    if (vague !== undefined) doubt(key, unreadableReference(vague));
    else if (kind !== undefined) doubt(key, unreadableKind(kind));
  }
  return (key) => doubts.get(keyText(key));
}

/** What a vague reference does say, as far as one look-up can find it: the kind and the name it may have. */
function meaningText({ mayMean: { namespace, kind = "*", name = "*" } }: UnreadableReference): string {
  return `${namespace}/${kind}/${name}`;
}

/** Every text under which a reference that may mean this key stands. */
function meaningsOf({ namespace, kind, name }: ObjectKey): readonly string[] {
  return [kind, "*"].flatMap((kindText) => [name, "*"].map((nameText) => `${namespace}/${kindText}/${nameText}`));
}

function unreadableReference({ referrer, path, reason }: UnreadableReference): Doubt {
  return { because: "unreadable-reference", by: [referrer], path, reason };
}

function unreadableKind(kind: UnreadKind): Doubt {
  return { because: "unreadable-kind", by: [], reason: `${groupKindText(kind)}: ${kind.reason}` };
}
