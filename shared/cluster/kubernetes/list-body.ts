import { isRecord } from "../../objects/path.ts";

/** A list as an API server sends it. */
export interface ListBody {
  /** All but the items, which are an empty list here. */
  readonly envelope: unknown;
  /** How many there are; undefined where the body has no items, or they are no list. */
  readonly count: number | undefined;
  /**
   * Reads the items from one place to another, the latter left out. Throws a SyntaxError for one that is not JSON.
   *
   * @param withoutManagedFields leaves `metadata.managedFields` undefined, its text unread
   */
  items(from: number, to: number, withoutManagedFields?: boolean): readonly unknown[];
}

const [QUOTE = 0, BACKSLASH = 0, COMMA = 0, OPEN = 0, CLOSE = 0, OPEN_LIST = 0, CLOSE_LIST = 0] =
  Buffer.from('"\\,{}[]');
const MANAGED_FIELDS = '"managedFields":[';
// Nobody can have written this one into an item.
const SPARED = `spared ${Math.random()}`;
const ITEMS = /"items"\s*:\s*$/;
/** Before the list of items there is no more than a few fields; their name is looked for in this many bytes. */
const NAME_WITHIN = 64;

/**
 * Reads the body of a list, whose items are then read by JSON.parse when they are asked for: only where one ends is found
 * here. All at once, a page of 500 objects and its text are megabytes that stay until the next full garbage collection;
 * a sweep over 10,000 machines then takes 100 MB more.
 *
 * Throws a SyntaxError for what is not JSON outside of the items.
 */
export function readListBody(body: Buffer): ListBody {
  const from = startOfItems(body);
  if (from === undefined) return { envelope: JSON.parse(body.toString()), count: undefined, items: () => [] };
  const bounds = [from];
  let end = endOfItem(body, from);
  for (; body[end] === COMMA; end = endOfItem(body, end + 1)) bounds.push(end + 1);
  const isEmpty = bounds.length === 1 && body.toString("utf8", from, end).trim() === "";
  const count = isEmpty ? 0 : bounds.length;
  const endOf = (index: number) => (bounds[index + 1] ?? end + 1) - 1;
  return {
    envelope: JSON.parse(body.toString("utf8", 0, from) + body.toString("utf8", end)),
    count,
    items: (first, behind, withoutManagedFields = false) =>
      bounds.slice(first, Math.min(behind, count)).map((begin, index): unknown => {
        const behindIt = endOf(first + index);
        const spared = withoutManagedFields ? readSparing(body, begin, behindIt) : undefined;
        return spared ?? JSON.parse(body.toString("utf8", begin, behindIt));
      }),
  };
}

/**
 * Reads an item but for the list of its `metadata.managedFields`; undefined where what looks like it is something else. In
 * a string the quotes would be escaped, so what is found is a field, and whether it is that one shows afterwards.
 */
function readSparing(body: Buffer, from: number, to: number): object | undefined {
  const at = body.indexOf(MANAGED_FIELDS, from, "latin1");
  if (at === -1 || at >= to) return undefined;
  let end = endOfItem(body, at + MANAGED_FIELDS.length);
  while (body[end] === COMMA) end = endOfItem(body, end + 1);
  const text = `${body.toString("utf8", from, at)}"managedFields":"${SPARED}"${body.toString("utf8", end + 1, to)}`;
  const item: unknown = JSON.parse(text);
  if (!isRecord(item) || !isRecord(item.metadata) || item.metadata.managedFields !== SPARED) return undefined;
  item.metadata.managedFields = undefined;
  return item;
}

/** The place of the comma behind an item, or of the bracket behind the last. */
function endOfItem(body: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) at = endOfString(body, at);
    else if (byte === OPEN || byte === OPEN_LIST) depth += 1;
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_LIST)) return at;
    else if (byte === CLOSE || byte === CLOSE_LIST) depth -= 1;
  }
  throw new SyntaxError("the list has no end");
}

/** Where the list of items of the root object begins, just after its bracket. */
function startOfItems(body: Buffer): number | undefined {
  let depth = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) at = endOfString(body, at);
    else if (byte === OPEN_LIST && depth === 1) {
      if (ITEMS.test(body.toString("latin1", Math.max(0, at - NAME_WITHIN), at))) return at + 1;
      depth += 1;
    } else if (byte === OPEN || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE || byte === CLOSE_LIST) depth -= 1;
  }
  return undefined;
}

/** The place of the quote that ends the string begun at `from`. */
function endOfString(body: Buffer, from: number): number {
  for (let at = from + 1; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) return at;
  }
  throw new SyntaxError("a string has no end");
}
