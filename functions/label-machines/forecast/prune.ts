import { isRecord } from "../../../shared/objects/path.ts";
import type { Fields } from "./fields.ts";

/** Empty and unset mean different things here, and CAPI compares them as different (v1beta2: pointers). */
const KEPT_WHEN_EMPTY = [/\.nodeRegistration\.taints$/, /^joinConfiguration\.controlPlane$/, /xtraArgs\[\]\.value$/];
/** Plain numbers of the Go types, where 0 is unset; every other number is a pointer there. */
const UNSET_WHEN_ZERO = /(bindPort|ertificateValidityPeriodDays|percentage)$/;

/**
 * A copy of a KubeadmConfigSpec without what v1beta2 does not tell from unset: null, empty strings, lists and records
 * (controlplane/kubeadm/pkg/filters.go dropOmittableFields, and the omitzero fields of the types).
 */
export function pruned(spec: Fields): Fields {
  return prunedRecord(spec, "");
}

function prunedRecord(record: Fields, path: string): Fields {
  const result: Fields = {};
  for (const [field, value] of Object.entries(record)) {
    const at = path === "" ? field : `${path}.${field}`;
    const left = prunedValue(value, at);
    if (!isUnset(left, at)) result[field] = left;
  }
  return result;
}

function prunedValue(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item) => prunedValue(item, `${path}[]`));
  return isRecord(value) ? prunedRecord(value, path) : value;
}

function isUnset(value: unknown, path: string): boolean {
  if (value === null || value === undefined) return true;
  if (value === 0) return UNSET_WHEN_ZERO.test(path);
  const isEmpty = value === "" || (Array.isArray(value) && value.length === 0) || isEmptyRecord(value);
  return isEmpty && !KEPT_WHEN_EMPTY.some((kept) => kept.test(path));
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}
