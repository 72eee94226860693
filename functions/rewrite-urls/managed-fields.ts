import { FIELD_MANAGER } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { isRecord } from "../../shared/objects/path.ts";
import { common, type FieldSet, shareOf, union, without } from "./field-sets.ts";
import type { FormerOwner } from "./record.ts";
import type { FoundString } from "./strings.ts";

type Entry = NonNullable<NonNullable<KubeObject["metadata"]["managedFields"]>[number]>;

/**
 * Who owns the strings at these places, other than us, and each owner's share in the notation of managedFields as it
 * is once `after` is written (a list whose items are known by a changed field names them anew).
 */
export function ownersOf(before: KubeObject, after: unknown, places: readonly FoundString[]): readonly FormerOwner[] {
  return (before.metadata.managedFields ?? []).flatMap((entry) => {
    const { manager, operation, apiVersion, subresource, fieldsV1 } = entry;
    if (manager === undefined || manager === FIELD_MANAGER || !isRecord(fieldsV1)) return [];
    if (typeof operation !== "string" || typeof apiVersion !== "string") return [];
    const shares = places
      .map(({ steps }) => shareOf(fieldsV1, steps, before, after))
      .filter((one) => one !== undefined);
    if (shares.length === 0) return [];
    const where = typeof subresource === "string" && subresource !== "" ? { subresource } : {};
    return [{ manager, operation, apiVersion, ...where, fields: shares.reduce(union, {}) }];
  });
}

/** One list of former owners out of two; the earlier one knows better who had a field. */
export function earlierOwners(earlier: readonly FormerOwner[], later: readonly FormerOwner[]): readonly FormerOwner[] {
  const isKnown = (owner: FormerOwner) => earlier.some((one) => isSameOwner(one, owner));
  const joined = earlier.map((one) => {
    const again = later.find((owner) => isSameOwner(one, owner));
    return again === undefined ? one : { ...one, fields: union(one.fields, again.fields) };
  });
  return [...joined, ...later.filter((owner) => !isKnown(owner))];
}

/**
 * managedFields as they were meant to be: what our entries own at these places goes back to those who had it, or to
 * nobody; whoever overwrote us in between keeps what they took.
 */
export function givenBack(
  object: KubeObject,
  owners: readonly FormerOwner[],
  places: readonly FoundString[],
): readonly Entry[] {
  const entries = object.metadata.managedFields ?? [];
  const ours = entries.filter(isOurs).map(fieldsOf).reduce(union, {});
  const shares = owners.map((owner) => ({ ...owner, fields: common(owner.fields, ours) }));
  const written = places.map(({ steps }) => shareOf(ours, steps, object, object) ?? {});
  const surplus = [...written, ...shares.map(({ fields }) => fields)].reduce(union, {});
  const due = shares.filter(({ fields }) => Object.keys(fields).length > 0);
  const missing = due.filter((owner) => !entries.some((entry) => isEntryOf(entry, owner)));
  return [
    ...entries.flatMap((entry): readonly Entry[] => {
      if (isOurs(entry)) return withFields(entry, without(fieldsOf(entry), surplus));
      const owner = due.find((one) => isEntryOf(entry, one));
      return owner === undefined ? [entry] : [{ ...entry, fieldsV1: union(fieldsOf(entry), owner.fields) }];
    }),
    ...missing.map(({ fields, ...owner }): Entry => ({ ...owner, fieldsType: "FieldsV1", fieldsV1: fields })),
  ];
}

/** The manager that last wrote the string at this place, undefined where nobody owns it. */
export function writerOf(object: KubeObject, place: FoundString): string | undefined {
  const owners = (object.metadata.managedFields ?? []).filter(
    ({ fieldsV1 }) => isRecord(fieldsV1) && shareOf(fieldsV1, place.steps, object, object) !== undefined,
  );
  const timeOf = (entry: Entry) => String(entry.time ?? "");
  const [last] = owners.toSorted((a, b) => timeOf(b).localeCompare(timeOf(a)));
  return last?.manager;
}

function withFields(entry: Entry, fields: FieldSet): readonly Entry[] {
  return Object.keys(fields).length === 0 ? [] : [{ ...entry, fieldsV1: fields }];
}

function fieldsOf(entry: Entry): FieldSet {
  return isRecord(entry.fieldsV1) ? entry.fieldsV1 : {};
}

function isOurs(entry: Entry): boolean {
  return entry.manager === FIELD_MANAGER;
}

function isSameOwner(a: Omit<FormerOwner, "fields">, b: Omit<FormerOwner, "fields">): boolean {
  const isSameWay = a.operation === b.operation && a.apiVersion === b.apiVersion;
  return a.manager === b.manager && isSameWay && (a.subresource ?? "") === (b.subresource ?? "");
}

function isEntryOf(entry: Entry, owner: FormerOwner): boolean {
  const { manager, operation, apiVersion, subresource } = entry;
  if (manager === undefined || typeof operation !== "string" || typeof apiVersion !== "string") return false;
  const where = typeof subresource === "string" ? { subresource } : {};
  return isSameOwner({ manager, operation, apiVersion, ...where }, owner);
}
