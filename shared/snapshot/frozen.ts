/**
 * The same value, with nothing in it that could be changed any more: what many hold needs no copies then. What is frozen
 * already is taken to be so all through.
 */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const field in value) frozen(value[field]);
  return Object.freeze(value);
}
