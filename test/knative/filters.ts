import type { Filter } from "./schemas.ts";

type Attributes = Readonly<Record<string, string>>;

/** Whether a Trigger with these filters takes an event: all must match, none lets everything through. */
export function passes(filters: readonly Filter[], event: Attributes): boolean {
  return filters.every((filter) => matches(filter, event));
}

function matches({ exact, prefix, suffix, all, any, not }: Filter, event: Attributes): boolean {
  if (exact !== undefined) return holds(exact, event, (value, wanted) => value === wanted);
  if (prefix !== undefined) return holds(prefix, event, (value, wanted) => value.startsWith(wanted));
  if (suffix !== undefined) return holds(suffix, event, (value, wanted) => value.endsWith(wanted));
  if (all !== undefined) return all.every((one) => matches(one, event));
  if (any !== undefined) return any.some((one) => matches(one, event));
  return not !== undefined && !matches(not, event);
}

function holds(wanted: Attributes, event: Attributes, compare: (value: string, wanted: string) => boolean): boolean {
  return Object.entries(wanted).every(([name, text]) => {
    const value = event[name];
    return value !== undefined && compare(value, text);
  });
}
