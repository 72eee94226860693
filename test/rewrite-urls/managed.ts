import { isDeepStrictEqual } from "node:util";
import type { Cluster, MergePatch } from "../../shared/cluster/cluster.ts";
import { mergePatch } from "../../shared/cluster/snapshot/merge-patch.ts";
import { FIELD_MANAGER } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { isRecord } from "../../shared/objects/path.ts";

type Entry = NonNullable<NonNullable<KubeObject["metadata"]["managedFields"]>[number]>;
type Fields = Record<string, unknown>;

/**
 * A cluster that keeps managedFields as the API server does for custom resources without list types: a field whose
 * value a patch changes leaves every other manager and goes to this one, whatever managedFields the patch brings.
 */
export function managed(cluster: Cluster, manager = FIELD_MANAGER): Cluster {
  return {
    ...cluster,
    async patch(object, patch) {
      const after = mergePatch(object, patch) as KubeObject;
      const changed = changedFields(watched(object), watched(after));
      const base = after.metadata.managedFields ?? [];
      const others = base.filter((entry) => entry.manager !== manager).flatMap((entry) => less(entry, changed));
      const ours = base.filter((entry) => entry.manager === manager).flatMap((entry) => less(entry, changed.removed));
      const managedFields = hasAny(changed.set)
        ? [...others, more(ours[0] ?? entryOf(manager, object), changed.set)]
        : [...others, ...ours];
      const metadata = { ...(patch.metadata as Fields | undefined), managedFields };
      return cluster.patch(object, { ...patch, metadata } as MergePatch);
    },
  };
}

/** An entry of server-side apply that owns the fields at these dotted paths. */
export function applied(manager: string, object: KubeObject, ...paths: readonly string[]): Entry {
  const fields = paths.map((path) =>
    path.split(".").reduceRight<Fields>((below, step) => ({ [`f:${step}`]: below }), {}),
  );
  const fieldsV1 = fields.reduce<Fields>((all, one) => mergePatch(all, one) as Fields, {});
  return { ...entryOf(manager, object), operation: "Apply", fieldsV1 };
}

/** The managers that own the field at a dotted path. */
export function ownersAt(object: KubeObject, path: string): readonly string[] {
  const owns = ({ fieldsV1 }: Entry) =>
    path.split(".").reduce<unknown>((fields, step) => (isRecord(fields) ? fields[`f:${step}`] : undefined), fieldsV1);
  return (object.metadata.managedFields ?? []).filter(owns).map(({ manager }) => String(manager));
}

let seconds = 0;

function entryOf(manager: string, { apiVersion }: KubeObject): Entry {
  seconds += 1;
  const time = Temporal.Instant.from("2026-09-01T00:00:00Z").add({ seconds }).toString();
  return { manager, operation: "Update", apiVersion, time, fieldsType: "FieldsV1", fieldsV1: {} };
}

function watched({ spec, metadata: { annotations, labels } }: KubeObject): Fields {
  return {
    ...(isRecord(spec) && { spec }),
    metadata: { ...(annotations && { annotations }), ...(labels && { labels }) },
  };
}

interface Changed {
  readonly set: Fields;
  readonly removed: Fields;
}

function changedFields(before: Fields, after: Fields): Changed {
  const set: Fields = {};
  const removed: Fields = {};
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  for (const field of fields.filter((one) => !isDeepStrictEqual(before[one], after[one]))) {
    const [old, now] = [before[field], after[field]];
    const isLeaf = !isRecord(now ?? old);
    const below = isLeaf ? { set: {}, removed: {} } : changedFields(recordOf(old), recordOf(now));
    if (hasAny(below.set) || (isLeaf && now !== undefined)) set[`f:${field}`] = below.set;
    if (hasAny(below.removed) || (isLeaf && now === undefined)) removed[`f:${field}`] = below.removed;
  }
  return { set, removed };
}

function recordOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function less(entry: Entry, changed: Changed | Fields): readonly Entry[] {
  const sets = "set" in changed && "removed" in changed ? [changed.set, changed.removed] : [changed];
  const fieldsV1 = sets.reduce((left: Fields, one) => minus(left, one as Fields), entry.fieldsV1 as Fields);
  return hasAny(fieldsV1) ? [{ ...entry, fieldsV1 }] : [];
}

function more(entry: Entry, fields: Fields): Entry {
  const { time } = entryOf("clock", { apiVersion: "v1", kind: "Clock", metadata: { name: "clock" } });
  return { ...entry, time, fieldsV1: mergePatch(entry.fieldsV1, fields) };
}

function minus(from: Fields, what: Fields): Fields {
  const left = Object.entries(from).flatMap(([field, below]): [string, unknown][] => {
    const other = what[field];
    if (!isRecord(other) || !isRecord(below)) return [[field, below]];
    const rest = hasAny(other) ? minus(below, other) : {};
    return hasAny(rest) ? [[field, rest]] : [];
  });
  return Object.fromEntries(left);
}

function hasAny(fields: Fields): boolean {
  return Object.keys(fields).length > 0;
}
