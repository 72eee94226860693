import { mayRefer, referencesOf } from "../../shared/graph/references.ts";
import { annotation, isRetired, NEEDED_BY } from "../../shared/marks/marks.ts";
import { canRefer, isSpecReader, isTemplateKind } from "../../shared/objects/kinds.ts";
import { isTerminating, type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";

/** How many witnesses a template notes: when the first goes, the next speaks, and nothing need be searched. */
const NOTED = 3;
/** Names are at most 253 characters; whoever writes more than we do is not read. */
const LONGEST_NOTE = 4096;

/**
 * The witnesses that a template notes, best first. Whoever can write the template can write the note, so it is a hint
 * of where to look and proves nothing. What cannot be read of it, or names what cannot refer to it, is passed over.
 */
export function witnessesNotedOn(template: KubeObject): readonly ObjectKey[] {
  const noted = annotation(template, NEEDED_BY);
  if (noted === undefined || noted.length > LONGEST_NOTE) return [];
  const key = keyOf(template);
  return readNote(noted)
    .flatMap(parseKey)
    .filter((one) => canRefer(one) && mayRefer(one, key))
    .slice(0, NOTED);
}

/** The note of these witnesses. */
export function noteOf(witnesses: readonly ObjectKey[]): string {
  return JSON.stringify(witnesses.slice(0, NOTED).map(keyText));
}

/**
 * Whether `witness`, as it now is, proves that the template is needed: it refers to it, and it is no retired template, of
 * which it would have to be known that it is needed itself. Terminating ones count, as in design.md.
 */
export function provesNeed(witness: KubeObject, template: ObjectKey): boolean {
  if (isTemplateKind(keyOf(witness)) && isRetired(witness)) return false;
  const wanted = keyText(template);
  return referencesOf(witness).readable.some(({ target }) => keyText(target) === wanted);
}

/**
 * Those that are likely to live longest first: the spec of an owner, which outlives the machines made from it; then a
 * machine that is not Terminating, the youngest first, since rollouts replace the oldest first; then one that leaves.
 */
export function byExpectedLife(a: KubeObject, b: KubeObject): number {
  return rankOf(a) - rankOf(b) || bornAt(b).localeCompare(bornAt(a));
}

function rankOf(object: KubeObject): number {
  if (isTerminating(object)) return 2;
  const { group, kind } = keyOf(object);
  const isOwnerSpec = isTemplateKind({ group, kind }) || (isSpecReader({ group, kind }) && kind !== "Machine");
  return isOwnerSpec ? 0 : 1;
}

function bornAt({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? "";
}

function readNote(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Reads `keyText` back. */
function parseKey(text: unknown): readonly ObjectKey[] {
  if (typeof text !== "string") return [];
  const [group = "", kind = "", namespace = "", name = "", ...rest] = text.split("/");
  const isKey =
    rest.length === 0 &&
    kind !== "" &&
    [namespace, name].every((part) => /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(part));
  return isKey ? [{ group, kind, namespace, name }] : [];
}
