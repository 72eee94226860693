import { ClusterError, type ServedKind } from "../cluster.ts";

type Served = Pick<ServedKind, "group" | "version" | "plural" | "namespaced">;

/** The path of a kind's objects; of all namespaces when `namespace` is left out or the kind has none. */
export function collectionPath({ group, version, plural, namespaced }: Served, namespace?: string): string {
  const root = group === "" ? `/api/${segment(version)}` : `/apis/${segment(group)}/${segment(version)}`;
  const scope = namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : "";
  return `${root}${scope}/${segment(plural)}`;
}

export function objectPath(kind: Served, { namespace, name }: { namespace: string; name: string }): string {
  return `${collectionPath(kind, namespace)}/${segment(name)}`;
}

/** A query, "" for an empty one; fields that are undefined are left out. */
export function query(fields: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

// Names come out of events, which anybody may send; none may lead to another path.
export function segment(text: string): string {
  if (text !== "" && text !== "." && text !== "..") return encodeURIComponent(text);
  throw new ClusterError("invalid", `${JSON.stringify(text)} cannot be part of an API path`);
}
