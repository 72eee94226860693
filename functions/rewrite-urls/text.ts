import { matchUrl, type Rule } from "./rules.ts";
import type { UrlPrefix } from "./url.ts";

const URLS = /https?:\/\/[^\s"'`<>()\\|;,]+/gi;

/**
 * Whether a text holds a URL that a rule takes or, where the rule leads to another host, the name of the host it leaves.
 * A text that is base64 is looked into as well.
 */
export function mentions(text: string, rules: readonly Rule[]): boolean {
  return isIn(text, rules) || isIn(fromBase64(text), rules);
}

function isIn(text: string, rules: readonly Rule[]): boolean {
  if (text === "") return false;
  if ((text.match(URLS) ?? []).some((url) => matchUrl(url, rules) !== undefined)) return true;
  return rules.some(({ from, to }) => from.hostname !== to.hostname && hostName(from).test(text));
}

const hostNames = new WeakMap<UrlPrefix, RegExp>();

/** A host name as a word of its own; a name without dots is an everyday word, so only after `//` or `@`. */
function hostName(prefix: UrlPrefix): RegExp {
  const known = hostNames.get(prefix);
  if (known !== undefined) return known;
  const isPlainWord = !/[.:]/.test(prefix.hostname);
  const before = isPlainWord ? "(?:\\/\\/|@)" : "(?<![\\w.-])";
  const made = new RegExp(`${before}${RegExp.escape(prefix.hostname)}(?![\\w-]|\\.\\w)`, "i");
  hostNames.set(prefix, made);
  return made;
}

// Short words are base64 by chance; nothing that holds a URL encodes to less than this.
const SHORTEST = 16;

function fromBase64(text: string): string {
  const packed = text.replaceAll(/\s/g, "");
  if (packed.length < SHORTEST || !/^[A-Za-z0-9+/]+={0,2}$/.test(packed)) return "";
  return Buffer.from(packed, "base64").toString("utf8");
}
