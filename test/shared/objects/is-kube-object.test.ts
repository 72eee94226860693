import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { isKubeObject } from "../../../shared/objects/is-kube-object.ts";
import { KubeObject } from "../../../shared/objects/object.ts";
import { isRecord } from "../../../shared/objects/path.ts";

/** What JSON, YAML and the tags of YAML 1.1 can say, and hostile forms of it. */
const ANYTHING = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, "", "x", 0, -0, 7, Number.NaN, Number.POSITIVE_INFINITY, 7n, true, false),
  fc
    .constantFrom<() => unknown>(
      () => ({}),
      () => [],
      () => [null],
      () => ["x", 5],
      () => ({ a: "x" }),
      () => ({ a: 5 }),
      () => ({ constructor: "x", hasOwnProperty: "y", toString: "z" }),
      () => ({ constructor: 5 }),
      () => [{ apiVersion: "v1", kind: "A", name: "a" }],
      () => [{ apiVersion: "v1", kind: "A", name: "a", uid: null }],
      () => [{ manager: 5 }],
      () => new Map([["name", "a"]]),
      () => new Set(["a"]),
      () => new Date(0),
      () => new Uint8Array([1]),
      () => JSON.parse('{"__proto__": "x"}'),
      () => JSON.parse('{"__proto__": {"name": "a"}}'),
      () => JSON.parse('[{"apiVersion": "v1", "kind": "A", "name": "a", "__proto__": null}]'),
      () => JSON.parse('{"name": "a", "__proto__": {"deletionTimestamp": 5}}'),
    )
    .map((make) => make()),
  fc.jsonValue(),
);

const PLAIN = { noNullPrototype: true };
const TEXTS = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "a/b")),
  fc.string(),
  PLAIN,
);
const OWNER = fc.record(
  {
    apiVersion: fc.string(),
    kind: fc.string(),
    name: fc.string(),
    uid: fc.string(),
    controller: fc.boolean(),
    blockOwnerDeletion: fc.jsonValue(),
  },
  { ...PLAIN, requiredKeys: ["apiVersion", "kind", "name"] },
);
const VALID = fc.record(
  {
    apiVersion: fc.string({ minLength: 1 }),
    kind: fc.string({ minLength: 1 }),
    metadata: fc.record(
      {
        name: fc.string({ minLength: 1 }),
        namespace: fc.string(),
        uid: fc.string(),
        resourceVersion: fc.string(),
        generation: fc.double({ noNaN: true, noDefaultInfinity: true }),
        creationTimestamp: fc.option(fc.string()),
        deletionTimestamp: fc.option(fc.string()),
        labels: fc.option(TEXTS),
        annotations: fc.option(TEXTS),
        finalizers: fc.option(fc.array(fc.string())),
        ownerReferences: fc.option(fc.array(OWNER)),
        managedFields: fc.option(fc.array(fc.dictionary(fc.string(), fc.jsonValue(), PLAIN).map(withManager))),
        selfLink: fc.jsonValue(),
      },
      { ...PLAIN, requiredKeys: ["name"] },
    ),
    spec: fc.jsonValue(),
  },
  { ...PLAIN, requiredKeys: ["apiVersion", "kind", "metadata"] },
);
const CHANGE = fc.record({ at: fc.nat(), does: fc.constantFrom("put", "put", "take", "add"), value: ANYTHING });

function withManager(fields: Record<string, unknown>): Record<string, unknown> {
  return { ...fields, manager: "m" };
}

/** One field or item, whichever comes at `at` of all there are, becomes another value, goes, or gets a neighbour. */
function changed(root: unknown, { at, does, value }: { at: number; does: string; value: unknown }): unknown {
  const copy = structuredClone(root);
  const places = placesIn(copy);
  const place = places[at % places.length];
  if (place === undefined) return value;
  const { parent, field } = place;
  if (does === "take" && Array.isArray(parent)) parent.splice(Number(field), 1);
  else if (does === "take") delete parent[field];
  else if (does === "put") parent[field] = value;
  else if (!Array.isArray(parent))
    Object.defineProperty(parent, "__proto__", { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

function placesIn(value: unknown): readonly { readonly parent: Record<string, unknown>; readonly field: string }[] {
  if (!Array.isArray(value) && !isPlain(value)) return [];
  const parent = value as Record<string, unknown>;
  return Object.keys(parent).flatMap((field) => [{ parent, field }, ...placesIn(parent[field])]);
}

function isPlain(value: unknown): boolean {
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype;
}

/** The schema accepts it and hands back the like of it. */
function schemaKeeps(value: unknown): boolean {
  const parsed = KubeObject.safeParse(value);
  return parsed.success && isDeepStrictEqual(parsed.data, value);
}

function says(value: unknown): { readonly guard: boolean; readonly schema: boolean } {
  return { guard: isKubeObject(value), schema: schemaKeeps(value) };
}

const RUNS = { numRuns: 1000 };

describe("guard and schema agree about", () => {
  test("objects as they should be", () => {
    fc.assert(
      fc.property(VALID, (value) => {
        const { guard, schema } = says(value);
        expect(guard).toBe(schema);
        expect(KubeObject.safeParse(value).success).toBe(true);
      }),
      RUNS,
    );
  });

  test("objects of which something was changed", () => {
    fc.assert(
      fc.property(VALID, fc.array(CHANGE, { minLength: 1, maxLength: 3 }), (value, changes) => {
        const { guard, schema } = says(changes.reduce(changed, value as unknown));
        expect(guard).toBe(schema);
      }),
      RUNS,
    );
  });

  test("anything else", () => {
    fc.assert(
      fc.property(ANYTHING, (value) => {
        expect(isKubeObject(value)).toBe(schemaKeeps(value));
      }),
      RUNS,
    );
  });
});

describe("where no field is called __proto__, agreeing is accepting", () => {
  const named = (value: unknown): boolean =>
    Array.isArray(value)
      ? value.some(named)
      : isRecord(value) && (Object.hasOwn(value, "__proto__") || Object.values(value).some(named));

  test("for all that JSON can say", () => {
    fc.assert(
      fc.property(VALID, fc.array(CHANGE, { maxLength: 3 }), (value, changes) => {
        const made: unknown = JSON.parse(JSON.stringify(changes.reduce(changed, value as unknown), noBigInt) ?? "null");
        fc.pre(!named(made));
        expect(isKubeObject(made)).toBe(KubeObject.safeParse(made).success);
      }),
      RUNS,
    );
  });

  function noBigInt(_: string, value: unknown): unknown {
    return typeof value === "bigint" ? String(value) : value;
  }
});

it.each<[string, unknown, boolean]>([
  ["the least there can be", { apiVersion: "v1", kind: "A", metadata: { name: "a" } }, true],
  ["an empty name", { apiVersion: "v1", kind: "A", metadata: { name: "" } }, false],
  ["labels that are null", { apiVersion: "v1", kind: "A", metadata: { name: "a", labels: null } }, true],
  ["a uid that is null", { apiVersion: "v1", kind: "A", metadata: { name: "a", uid: null } }, false],
  [
    "labels that a tag of YAML 1.1 made a Map",
    { apiVersion: "v1", kind: "A", metadata: { name: "a", labels: new Map() } },
    false,
  ],
  [
    "a prototype of its own",
    JSON.parse('{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"__proto__":{}}'),
    false,
  ],
])("%s -> $2", (_, value, expected) => {
  expect(isKubeObject(value)).toBe(expected);
});
