/** A value inside an object, with the dotted path that leads to it (list items as `[0]`). */
export interface Found {
  readonly path: string;
  readonly value: unknown;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every value that a dotted path leads to; `[]` after a step stands for each item of a list. Never throws. */
export function valuesAt(root: unknown, path: string): readonly Found[] {
  if (!path.includes("[]")) {
    const value = valueAt(root, path);
    return value === undefined || value === null ? [] : [{ path, value }];
  }
  let found: readonly Found[] = [{ path: "", value: root }];
  for (const step of path.split(".")) {
    const eachItem = step.endsWith("[]");
    const field = eachItem ? step.slice(0, -2) : step;
    found = found
      .flatMap(({ path, value }) => (isRecord(value) ? [{ path: join(path, field), value: value[field] }] : []))
      .flatMap((at) => (eachItem ? itemsOf(at) : [at]));
  }
  return found.filter(({ value }) => value !== undefined && value !== null);
}

/** The string at a plain dotted path, undefined where there is none. */
export function stringAt(root: unknown, path: string): string | undefined {
  const value = valueAt(root, path);
  return typeof value === "string" ? value : undefined;
}

function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const step of path.split(".")) {
    if (!isRecord(value)) return undefined;
    value = value[step];
  }
  return value;
}

/** Every record inside `root`, however deep, with its path below `base`. */
export function recordsIn(root: unknown, base: string): readonly Found[] {
  if (Array.isArray(root)) return root.flatMap((item, index) => recordsIn(item, `${base}[${index}]`));
  if (!isRecord(root)) return [];
  const below = Object.entries(root).flatMap(([field, value]) => recordsIn(value, join(base, field)));
  return [{ path: base, value: root }, ...below];
}

function join(path: string, field: string): string {
  return path === "" ? field : `${path}.${field}`;
}

function itemsOf({ path, value }: Found): readonly Found[] {
  if (!Array.isArray(value)) return value === undefined || value === null ? [] : [{ path, value }];
  return value.map((item, index) => ({ path: `${path}[${index}]`, value: item }));
}
