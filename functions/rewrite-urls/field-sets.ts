import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../shared/objects/path.ts";
import type { FoundString } from "./strings.ts";

/** A set of fields in the notation of managedFields (FieldsV1); a field without anything below is a member. */
export interface FieldSet {
  readonly [field: string]: unknown;
}

/**
 * The part of a field set that covers the value at the end of `steps`; undefined where it does not. A set that stops
 * above it owns the whole (an atomic list or map). See structured-merge-diff fieldpath/serialize-pe.go for `f:`, `k:`,
 * `v:` and `i:`.
 */
export function shareOf(
  fields: FieldSet,
  steps: FoundString["steps"],
  before: unknown,
  after: unknown,
): FieldSet | undefined {
  const [step, ...rest] = steps;
  if (step === undefined) return undefined;
  const inBefore = childOf(before, step);
  const inAfter = childOf(after, step);
  const name = typeof step === "string" ? `f:${step}` : Object.keys(fields).find((one) => names(one, step, inBefore));
  const below = name === undefined ? undefined : fields[name];
  if (name === undefined || !isRecord(below)) return undefined;
  const renamed = typeof step === "string" ? name : nameOf(name, inAfter);
  const isWhole = Object.keys(below).length === 0;
  if (rest.length === 0 || isWhole) return isWhole || "." in below ? { [renamed]: {} } : undefined;
  const share = shareOf(below, rest, inBefore, inAfter);
  if (share === undefined) return undefined;
  return { [renamed]: renamed === name ? share : { ...below, ...share } };
}

function childOf(value: unknown, step: string | number): unknown {
  if (typeof step === "number") return Array.isArray(value) ? value[step] : undefined;
  return isRecord(value) ? value[step] : undefined;
}

function names(field: string, index: number, item: unknown): boolean {
  if (field === `i:${index}`) return true;
  if (field.startsWith("v:")) return isDeepStrictEqual(parsed(field), item);
  const keys = field.startsWith("k:") ? parsed(field) : undefined;
  if (!isRecord(keys) || !isRecord(item)) return false;
  return Object.entries(keys).every(([key, value]) => isDeepStrictEqual(item[key], value));
}

function nameOf(field: string, item: unknown): string {
  if (field.startsWith("v:")) return `v:${goJson(item)}`;
  const keys = field.startsWith("k:") ? parsed(field) : undefined;
  if (!isRecord(keys) || !isRecord(item)) return field;
  return `k:${goJson(Object.fromEntries(Object.keys(keys).map((key) => [key, item[key]])))}`;
}

/** JSON as the API server writes it in field names, byte for byte: Go escapes what could end an HTML tag. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function parsed(field: string): unknown {
  try {
    return JSON.parse(field.slice(2));
  } catch {
    return undefined;
  }
}

/** The fields of either. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  const joined: Record<string, unknown> = { ...a };
  for (const [name, below] of Object.entries(b)) {
    const have = joined[name];
    joined[name] = isRecord(have) && isRecord(below) ? union(have, below) : below;
  }
  return joined;
}

/** What both sets hold. */
export function common(a: FieldSet, b: FieldSet): FieldSet {
  const shared = Object.entries(a).flatMap(([name, below]): [string, unknown][] => {
    const other = b[name];
    if (!isRecord(below) || !isRecord(other)) return [];
    const isLeaf = Object.keys(below).length === 0 || Object.keys(other).length === 0;
    const both = isLeaf ? {} : common(below, other);
    return isLeaf || Object.keys(both).length > 0 ? [[name, both]] : [];
  });
  return Object.fromEntries(shared);
}

/** What `a` holds and `b` does not. */
export function without(a: FieldSet, b: FieldSet): FieldSet {
  const left = Object.entries(a).flatMap(([name, below]): [string, unknown][] => {
    const other = b[name];
    if (!isRecord(other) || !isRecord(below)) return [[name, below]];
    const rest = Object.keys(other).length === 0 ? {} : without(below, other);
    return Object.keys(rest).length === 0 ? [] : [[name, rest]];
  });
  return Object.fromEntries(left);
}
