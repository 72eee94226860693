import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../shared/objects/path.ts";

/** One field in which two values differ; `null` where one has none. */
export interface FieldDifference {
  readonly path: string;
  readonly machineValue: unknown;
  readonly wantedValue: unknown;
}

/**
 * The fields in which two JSON values differ, each at the deepest path, also below a record that one of them lacks;
 * lists of different length differ as a whole.
 */
export function differencesBetween(
  machineValue: unknown,
  wantedValue: unknown,
  path: string,
): readonly FieldDifference[] {
  if (isDeepStrictEqual(machineValue, wantedValue)) return [];
  const records = [machineValue ?? {}, wantedValue ?? {}];
  const [own, wanted] = records;
  const fields = [...new Set(records.flatMap((value) => (isRecord(value) ? Object.keys(value) : [])))].sort();
  if (isRecord(own) && isRecord(wanted) && fields.length > 0) {
    return fields.flatMap((field) => differencesBetween(own[field], wanted[field], `${path}.${field}`));
  }
  if (Array.isArray(machineValue) && Array.isArray(wantedValue) && machineValue.length === wantedValue.length) {
    return machineValue.flatMap((item, index) => differencesBetween(item, wantedValue[index], `${path}[${index}]`));
  }
  return [{ path, machineValue: machineValue ?? null, wantedValue: wantedValue ?? null }];
}
