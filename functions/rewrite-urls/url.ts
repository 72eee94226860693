/** An http(s) URL taken apart: its origin normalised for comparing, everything else as it was written. */
export interface UrlParts {
  readonly protocol: string;
  readonly hostname: string;
  /** "" where it is the protocol's own. */
  readonly port: string;
  readonly userInfo: string;
  /** Without dot segments; `["images", ""]` for `/images/`. */
  readonly segments: readonly string[];
  /** The query and fragment, or "". */
  readonly rest: string;
}

/** The beginning of URLs: an origin and whole path segments. */
export interface UrlPrefix extends Omit<UrlParts, "segments" | "userInfo" | "rest"> {
  /** As it was written. */
  readonly text: string;
  readonly folders: readonly string[];
  /** Ends with a slash, so it means what is below its last folder and not a file of that name. */
  readonly isFolder: boolean;
}

// Backslashes, spaces and control characters are read as one thing here and as another by the tools that fetch images.
const HTTP_URL = /^https?:\/\/([^/?#\s\\]+)(\/[^?#\s\\]*)?((?:\?[^#\s\\]*)?(?:#[^\s\\]*)?)$/i;

/**
 * Reads the `from` or `to` of a rule. Throws an Error saying what is wrong with it: only plain http(s) prefixes are
 * taken, without user info (a rules file is no place for it), query, fragment or dot segments.
 */
export function readPrefix(text: string): UrlPrefix {
  const parts = readUrl(text);
  if (parts === undefined) throw new Error("it may be an http or https URL such as http://10.10.10.17/images/");
  if (parts.userInfo !== "") throw new Error("it may not carry a user or password; leave them out");
  if (parts.rest !== "") throw new Error("it may not have a query or fragment; leave them out");
  if (rawPath(text).split("/").some(isDots)) throw new Error("it may not have . or .. in its path; write the path out");
  const { protocol, hostname, port, segments } = parts;
  const isFolder = segments.at(-1) === "";
  return { text, protocol, hostname, port, folders: isFolder ? segments.slice(0, -1) : segments, isFolder };
}

/** Whether `value` is one whole http(s) URL and nothing else. */
export function isWholeUrl(value: string): boolean {
  return readUrl(value) !== undefined;
}

/**
 * `value` with `to` in the place of `from`, or undefined where it does not start with `from`: same scheme, host and
 * port, and whole path segments. What follows the prefix stays as it was written, but for dot segments, which are
 * resolved first so that nothing climbs out of `to`. User info goes along only to the same host.
 */
export function replacePrefix(value: string | UrlParts, from: UrlPrefix, to: UrlPrefix): string | undefined {
  const parts = typeof value === "string" ? readUrl(value) : value;
  if (parts === undefined || !isSameOrigin(parts, from) || !startsWith(parts.segments, from.folders)) return undefined;
  const below = parts.segments.slice(from.folders.length);
  if (from.isFolder && below.length === 0) return undefined;
  const carried = parts.userInfo !== "" && to.hostname === parts.hostname ? `${parts.userInfo}@` : "";
  const base = to.text.replace("://", `://${carried}`);
  const whole = below.length === 0 ? base : `${base.replace(/\/$/, "")}/${below.join("/")}`;
  return whole + parts.rest;
}

/** Whether URLs below `prefix` also start with `other`, so that a rule from `other` would take them. */
export function isBelow(prefix: UrlPrefix, other: UrlPrefix): boolean {
  return isSameOrigin(prefix, other) && startsWith(prefix.folders, other.folders);
}

/** Whether both mean the same URLs. */
export function isSamePrefix(a: UrlPrefix, b: UrlPrefix): boolean {
  return isBelow(a, b) && isBelow(b, a) && a.isFolder === b.isFolder;
}

/** The host of an http(s) URL, normalised, without port; undefined for anything else. */
export function hostOf(value: string): string | undefined {
  return readUrl(value)?.hostname;
}

/** `text` with the user info of every URL in it masked, for logs, Events and messages. */
export function redact(text: string): string {
  if (!text.includes("@")) return text;
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/gi, "$1***@");
}

/** Takes a value apart; undefined where it is not one whole http(s) URL. */
export function readUrl(value: string): UrlParts | undefined {
  const [whole, authority = "", path = "", rest = ""] = HTTP_URL.exec(value) ?? [];
  const url = whole === undefined ? null : URL.parse(value);
  if (url === null) return undefined;
  const { protocol, hostname, port } = url;
  const at = authority.lastIndexOf("@");
  const userInfo = at === -1 ? "" : authority.slice(0, at);
  return { protocol, hostname, port, userInfo, segments: withoutDots(path.slice(1).split("/")), rest };
}

function rawPath(value: string): string {
  return HTTP_URL.exec(value)?.[2] ?? "";
}

function withoutDots(segments: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const [index, segment] of segments.entries()) {
    if (!isDots(segment)) kept.push(segment);
    else {
      if (decoded(segment) === "..") kept.pop();
      if (index === segments.length - 1) kept.push("");
    }
  }
  return kept.length === 0 ? [""] : kept;
}

function isDots(segment: string): boolean {
  return decoded(segment) === "." || decoded(segment) === "..";
}

function startsWith(segments: readonly string[], folders: readonly string[]): boolean {
  return folders.every((folder, index) => decoded(folder) === decoded(segments[index] ?? ""));
}

function isSameOrigin(a: Pick<UrlParts, "protocol" | "hostname" | "port">, b: UrlPrefix): boolean {
  return a.protocol === b.protocol && a.hostname === b.hostname && a.port === b.port;
}

/** A segment for comparing: %2e and . are the same (RFC 3986, 6.2.2), an encoded slash stays one. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  return segment.replaceAll(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : code.toUpperCase();
  });
}
