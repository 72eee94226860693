import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../shared/objects/path.ts";

/** A string inside an object. */
export interface FoundString {
  /** The fields and list places that lead to it. */
  readonly steps: readonly (string | number)[];
  /** The same as text: dotted, list items as `[0]`, fields that are no plain word as `[docker.io]`. */
  readonly path: string;
  readonly value: string;
}

const PLAIN_FIELD = /^[A-Za-z_][\w-]*$/;

/** Every string below `root.<field>`, in the order it stands. */
export function stringsUnder(root: Readonly<Record<string, unknown>>, field: string): readonly FoundString[] {
  const found: FoundString[] = [];
  addStrings(found, root[field], [field], field);
  return found;
}

/** The names of all fields below a value, with the path of each: a host name can stand there too. */
export function fieldsUnder(root: Readonly<Record<string, unknown>>, field: string): readonly FoundString[] {
  const found: FoundString[] = [];
  addFields(found, root[field], [field], field);
  return found;
}

/** A copy of `value` with a string in place of that at the end of these steps, which must lead to one; the rest is shared. */
export function withString(value: unknown, [step, ...rest]: FoundString["steps"], text: string): unknown {
  if (step === undefined) return text;
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? withString(item, rest, text) : item));
  if (!isRecord(value)) return value;
  return { ...value, [step]: withString(value[step], rest, text) };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The merge patch that turns `before` into `after`, where both have the same fields: records step by step, lists whole,
 * as RFC 7386 knows no other way. Empty where nothing differs.
 */
export function patchBetween(before: Fields, after: Fields): Fields {
  const fields = Object.entries(after).flatMap(([field, value]): [string, unknown][] => {
    const old = before[field];
    if (isDeepStrictEqual(old, value)) return [];
    return [[field, isRecord(old) && isRecord(value) ? patchBetween(old, value) : value]];
  });
  return Object.fromEntries(fields);
}

function addStrings(found: FoundString[], value: unknown, steps: FoundString["steps"], path: string): void {
  if (typeof value === "string") {
    found.push({ steps, path, value });
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) addStrings(found, item, [...steps, index], `${path}[${index}]`);
  } else if (isRecord(value)) {
    for (const field of Object.keys(value)) addStrings(found, value[field], [...steps, field], below(path, field));
  }
}

function addFields(found: FoundString[], value: unknown, steps: FoundString["steps"], path: string): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) addFields(found, item, [...steps, index], `${path}[${index}]`);
  } else if (isRecord(value)) {
    for (const field of Object.keys(value)) {
      const at = { steps: [...steps, field], path: below(path, field), value: field };
      found.push(at);
      addFields(found, value[field], at.steps, at.path);
    }
  }
}

function below(path: string, field: string): string {
  if (PLAIN_FIELD.test(field)) return `${path}.${field}`;
  // A number stands for a place in a list, and a bracket for the end of a field.
  return /^\d+$|[[\]"]/.test(field) ? `${path}[${JSON.stringify(field)}]` : `${path}[${field}]`;
}
