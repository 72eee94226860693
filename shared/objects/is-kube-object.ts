import type { KubeObject } from "./object.ts";

type Is = (value: unknown) => boolean;

/**
 * Whether a value that JSON or YAML was parsed to is what `KubeObject` describes, told in a tenth of the schema's
 * time and without a copy of it. True exactly where the schema accepts the value and would hand back the like of it:
 * it takes an own `__proto__` off what it checks, which is left to it.
 */
export function isKubeObject(value: unknown): value is KubeObject {
  return isFields(value) && isName(value.apiVersion) && isName(value.kind) && isMetadata(value.metadata);
}

function isMetadata(value: unknown): boolean {
  return (
    isFields(value) &&
    isName(value.name) &&
    isOptional(value.namespace, isString) &&
    isOptional(value.uid, isString) &&
    isOptional(value.resourceVersion, isString) &&
    isOptional(value.generation, Number.isFinite) &&
    isNullish(value.creationTimestamp, isString) &&
    isNullish(value.deletionTimestamp, isString) &&
    isNullish(value.labels, isStrings) &&
    isNullish(value.annotations, isStrings) &&
    isNullish(value.finalizers, areStrings) &&
    isNullish(value.ownerReferences, areOwnerReferences) &&
    isNullish(value.managedFields, areManagedFields)
  );
}

const areStrings = isListOf(isString);
const areOwnerReferences = isListOf(isOwnerReference);
const areManagedFields = isListOf(isManagedFields);

function isOwnerReference(value: unknown): boolean {
  return (
    isFields(value) &&
    isString(value.apiVersion) &&
    isString(value.kind) &&
    isString(value.name) &&
    isOptional(value.uid, isString) &&
    isOptional(value.controller, isBoolean)
  );
}

function isManagedFields(value: unknown): boolean {
  return isFields(value) && isOptional(value.manager, isString);
}

// Neither a Map nor a Set, as a tag of YAML 1.1 makes one: the schema would make an empty record of it.
function isFields(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  return !Object.hasOwn(value, "__proto__");
}

function isStrings(value: unknown): boolean {
  if (!isFields(value)) return false;
  for (const field in value) if (typeof value[field] !== "string") return false;
  return true;
}

function isListOf(is: Is): Is {
  return (value) => Array.isArray(value) && value.every(is);
}

function isOptional(value: unknown, is: Is): boolean {
  return value === undefined || is(value);
}

function isNullish(value: unknown, is: Is): boolean {
  return value === undefined || value === null || is(value);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isString(value: unknown): boolean {
  return typeof value === "string";
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}
