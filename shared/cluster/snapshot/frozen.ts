/**
 * The same value, with nothing in it that could be changed any more: what many hold needs no copies then. What is frozen
 * already is taken to be so all through. Throws a RangeError for what is nested in more than `levels`.
 */
export function frozen<Value>(value: Value, levels = Number.POSITIVE_INFINITY): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (levels === 0) throw new RangeError("is nested too deep");
  for (const field in value) frozen(value[field], levels - 1);
  return Object.freeze(value);
}
