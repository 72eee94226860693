import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { type Carrier, carriersOf, isAt, isOpen } from "./carriers.ts";
import { matchUrl, type Rules, rulesIn } from "./rules.ts";
import { type FoundString, fieldsUnder, stringsUnder } from "./strings.ts";
import { mentions } from "./text.ts";
import { isWholeUrl } from "./url.ts";

/** One value that a rule changes. */
export interface UrlChange {
  /** Dotted, list items as `[0]`. */
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

/** What the rules have to do with an object. */
export interface Findings {
  readonly changes: readonly UrlChange[];
  /** Where a URL or host name of a rule stands inside something that is no whole URL. */
  readonly mentions: readonly string[];
}

const NOTHING: Findings = { changes: [], mentions: [] };

/** A look asks about the same object several times; where nothing was found there is nothing to keep. */
const known = new WeakMap<Rules, WeakMap<KubeObject, Findings>>();

/**
 * Looks through an object's spec with the rules of its namespace. In a kind without carriers nothing changes, and any
 * URL or host name of a rule is a mention.
 */
export function findIn(object: KubeObject, rules: Rules): Findings {
  const before = known.get(rules)?.get(object);
  if (before !== undefined) return before;
  const found = lookThrough(object, rules);
  if (found.changes.length === 0 && found.mentions.length === 0) return NOTHING;
  const objects = known.get(rules) ?? new WeakMap();
  known.set(rules, objects.set(object, found));
  return found;
}

function lookThrough(object: KubeObject, rules: Rules): Findings {
  const key = keyOf(object);
  const here = rulesIn(key.namespace, rules);
  if (here.length === 0) return NOTHING;
  const carriers = carriersOf(key);
  const changes: UrlChange[] = [];
  const found: string[] = [];
  for (const one of stringsUnder(object, "spec")) {
    const row = carriers.find((carrier) => isAt(one, carrier));
    const to = row?.holds === "url" ? matchUrl(one.value, here)?.to : undefined;
    if (to !== undefined) changes.push({ path: one.path, from: one.value, to });
    else if (canMention(one, row, carriers) && mentions(one.value, here)) found.push(one.path);
  }
  if (readsText(carriers)) {
    const named = fieldsUnder(object, "spec").filter(({ value }) => mentions(value, here));
    found.push(...named.map(({ path }) => path));
  }
  return { changes, mentions: found };
}

function canMention({ value }: FoundString, row: Carrier | undefined, carriers: readonly Carrier[]): boolean {
  if (row === undefined) return carriers.length === 0;
  if (row.holds === "text") return true;
  // A whole URL that no rule takes names another server or folder, and an image that is none (oci://) is no text.
  return isOpen(row) && !isWholeUrl(value);
}

/** Kinds with a row for everything below: their maps can have host names for keys (RKE2's private registries). */
function readsText(carriers: readonly Carrier[]): boolean {
  return carriers.length === 0 || carriers.some(isOpen);
}
