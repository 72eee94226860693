import { createHash } from "node:crypto";
import { isBelow, isSamePrefix, readUrl, redact, replacePrefix, type UrlPrefix } from "./url.ts";

/** Whether the new URL is asked before it is written; `warn` writes where nothing answers at all, `none` never asks. */
export const CHECKS = ["head", "warn", "none"] as const;

export interface Rule {
  readonly from: UrlPrefix;
  readonly to: UrlPrefix;
  /** Where it holds; undefined for everywhere. */
  readonly namespaces: readonly string[] | undefined;
  readonly check: (typeof CHECKS)[number];
}

export interface Rules {
  readonly all: readonly Rule[];
  /** Changes with any change of the rules' meaning. */
  readonly hash: string;
}

/** A URL that a rule takes, and what becomes of it. */
export interface Match {
  readonly rule: Rule;
  readonly to: string;
}

/** A rule that cannot stand, by its place in the list. */
export interface RuleProblem {
  readonly index: number;
  readonly message: string;
}

export function rulesFrom(all: readonly Rule[]): Rules {
  const plain = all.map(({ from, to, namespaces, check }) => [from.text, to.text, namespaces ?? null, check]);
  let hash: string | undefined;
  return {
    all,
    get hash() {
      // Made for the first object that asks: Node's crypto takes longer to load than all rules do.
      hash ??= createHash("sha256").update(JSON.stringify(plain)).digest("hex").slice(0, 12);
      return hash;
    },
  };
}

const byNamespace = new WeakMap<Rules, Map<string, readonly Rule[]>>();

/** The rules that hold in a namespace, the same list each time. */
export function rulesIn(namespace: string, rules: Rules): readonly Rule[] {
  const known = byNamespace.get(rules) ?? new Map<string, readonly Rule[]>();
  byNamespace.set(rules, known);
  const here =
    known.get(namespace) ??
    rules.all.filter(({ namespaces }) => namespaces === undefined || namespaces.includes(namespace));
  known.set(namespace, here);
  return here;
}

// Ten thousand machines have a handful of images.
const MOST_KNOWN = 1000;
const byRules = new WeakMap<readonly Rule[], Map<string, Match | undefined>>();

/** What the rules make of a value: the rule with the longest `from` wins. Undefined where none takes it. */
export function matchUrl(value: string, rules: readonly Rule[]): Match | undefined {
  const known = byRules.get(rules) ?? new Map<string, Match | undefined>();
  byRules.set(rules, known);
  if (known.has(value)) return known.get(value);
  const match = bestMatch(value, rules);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(value, match);
  return match;
}

function bestMatch(value: string, rules: readonly Rule[]): Match | undefined {
  const url = readUrl(value);
  if (url === undefined) return undefined;
  const matches = rules.flatMap((rule) => {
    const to = replacePrefix(url, rule.from, rule.to);
    return to === undefined ? [] : [{ rule, to }];
  });
  return matches.reduce<Match | undefined>(
    (best, one) => (best && !isLonger(one.rule, best.rule) ? best : one),
    undefined,
  );
}

/**
 * Rules that cannot stand together: one whose `to` a rule would take again, so that a URL would move at every look, and
 * two with the same `from` in one namespace, of which it is unknown which one wins.
 */
export function problemsAmong(rules: readonly Rule[]): readonly RuleProblem[] {
  return rules.flatMap((rule, index) => {
    const again = rules.findIndex((other) => share(rule, other) && isBelow(rule.to, other.from));
    if (again !== -1) {
      const whose = again === index ? "its own from" : `the from of rule ${again + 1}`;
      const message = `to is ${quoted(rule.to)}, which ${whose} matches again, a loop; use a to outside every from`;
      return [{ index, message }];
    }
    const twin = rules.findIndex(
      (other, place) => place < index && share(rule, other) && isSamePrefix(rule.from, other.from),
    );
    if (twin === -1) return [];
    return [{ index, message: `from is ${quoted(rule.from)}, the same as that of rule ${twin + 1}; keep one of them` }];
  });
}

function share(a: Rule, b: Rule): boolean {
  if (a.namespaces === undefined || b.namespaces === undefined) return true;
  return a.namespaces.some((namespace) => b.namespaces?.includes(namespace));
}

function isLonger(a: Rule, b: Rule): boolean {
  const longer = a.from.folders.length - b.from.folders.length;
  return longer > 0 || (longer === 0 && a.from.isFolder && !b.from.isFolder);
}

function quoted({ text }: UrlPrefix): string {
  return JSON.stringify(redact(text));
}
