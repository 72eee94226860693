import { isRecord } from "../../../shared/objects/path.ts";

/** JSON in hand, to be changed in place on a copy. */
export type Fields = Record<string, unknown>;

/** The record at a dotted path; undefined where a step is missing or no record. */
export function recordAt(root: Fields, path: string): Fields | undefined {
  let at: unknown = root;
  for (const step of path.split(".")) at = isRecord(at) ? at[step] : undefined;
  return isRecord(at) ? at : undefined;
}

/** The records in the list at a dotted path, none where there is no list. */
export function recordsAt(root: Fields, path: string): readonly Fields[] {
  const { parent, field } = split(path);
  const list = (parent === "" ? root : recordAt(root, parent))?.[field];
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

/** The record at a path, created with every step that is missing. */
export function ensureAt(root: Fields, path: string): Fields {
  let at = root;
  for (const step of path.split(".")) {
    const next = at[step];
    const record: Fields = isRecord(next) ? next : {};
    at[step] = record;
    at = record;
  }
  return at;
}

/** Removes the field at a dotted path, if it is there. */
export function removeAt(root: Fields, path: string): void {
  const { parent, field } = split(path);
  const record = parent === "" ? root : recordAt(root, parent);
  if (record !== undefined) delete record[field];
}

function split(path: string): { readonly parent: string; readonly field: string } {
  const dot = path.lastIndexOf(".");
  return { parent: dot === -1 ? "" : path.slice(0, dot), field: path.slice(dot + 1) };
}
