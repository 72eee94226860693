import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readListBody } from "../../../../shared/cluster/kubernetes/list-body.ts";

function read(text: string) {
  const { envelope, count, items } = readListBody(Buffer.from(text));
  if (count === undefined) return { envelope, items: undefined };
  const half = Math.floor(count / 2);
  return { envelope, items: [...items(0, half), ...items(half, count)] };
}

describe("a body", () => {
  test.each<[string, string, unknown, readonly unknown[] | undefined]>([
    ["no items", '{"metadata":{"continue":"x"},"items":[]}', { metadata: { continue: "x" }, items: [] }, []],
    ["white space everywhere", ' { "items" : [ {"a":1} , 2 ] , "kind":"L" } ', { items: [], kind: "L" }, [{ a: 1 }, 2]],
    [
      "items before the rest",
      '{"items":[{"a":[1,{"b":2}]}],"kind":"L"}',
      { items: [], kind: "L" },
      [{ a: [1, { b: 2 }] }],
    ],
    ["brackets and quotes in strings", '{"items":[{"a":"]}\\"["},"\\\\"]}', { items: [] }, [{ a: ']}"[' }, "\\"]],
    ["a list named items deeper down", '{"x":{"items":[1]},"items":[2]}', { x: { items: [1] }, items: [] }, [2]],
    ["a string that says items", '{"y":"\\"items\\":[","items":[3]}', { y: '"items":[', items: [] }, [3]],
    ["another list", '{"names":[1],"items":[4]}', { names: [1], items: [] }, [4]],
    ["items that are null", '{"items":null}', { items: null }, undefined],
    ["no object at its root", "[1]", [1], undefined],
  ])("%s -> read as it is", (_, text, envelope, items) => {
    expect(read(text)).toEqual({ envelope, items });
  });

  test.each([
    ["cut within an item", '{"items":[{"a":1'],
    ["cut within a string", '{"items":[{"a":"x'],
    ["cut after the items", '{"items":[{"a":1}]'],
    ["a comma too many", '{"items":[{"a":1},]}'],
    ["a comma alone", '{"items":[,]}'],
    ["brackets that do not fit", '{"items":[{"a":1]]}'],
    ["text behind it", '{"items":[]}x'],
    ["a page of a proxy", "<html>"],
    ["nothing", ""],
  ])("%s -> refused", (_, text) => {
    expect(() => read(text)).toThrow(SyntaxError);
  });
});

test("any list -> the same items and the same rest as JSON.parse reads", () => {
  const list = fc.record({
    apiVersion: fc.string(),
    items: fc.array(fc.jsonValue()),
    kind: fc.string({ unit: "binary" }),
    metadata: fc.dictionary(fc.string(), fc.jsonValue()),
  });
  fc.assert(
    fc.property(list, fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      const { items, ...rest } = JSON.parse(text);
      expect(read(text)).toEqual({ envelope: { ...rest, items: [] }, items });
    }),
  );
});

test("any text, cut or changed in one place -> refused where JSON.parse refuses it", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.nat(), fc.constantFrom("", "]", "}", '"', ",", "\\"), (items, at, put) => {
      const text = JSON.stringify({ kind: "L", items });
      const changed = text.slice(0, at % text.length) + put + text.slice((at % text.length) + 1);
      const parsed = attempt(() => JSON.parse(changed));
      const ours = attempt(() => read(changed));
      expect(ours === undefined).toBe(parsed === undefined);
    }),
    { numRuns: 500 },
  );
});

function attempt<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

describe("an item without its managedFields", () => {
  const spared = (item: unknown) =>
    readListBody(Buffer.from(JSON.stringify({ items: [{ a: 1 }, item] }))).items(1, 2, true)[0];

  test.each<[string, unknown, unknown]>([
    [
      "has them",
      { metadata: { managedFields: [{ manager: "]" }, [","]], name: "a" }, spec: 1 },
      { metadata: { name: "a" }, spec: 1 },
    ],
    ["has none", { metadata: { name: "a" } }, { metadata: { name: "a" } }],
    ["has an empty list of them", { metadata: { managedFields: [] } }, { metadata: {} }],
    [
      "has a field of that name in its spec",
      { metadata: { name: "a" }, spec: { managedFields: [1] } },
      { metadata: { name: "a" }, spec: { managedFields: [1] } },
    ],
    [
      "has such a field before them",
      { data: { managedFields: [1] }, metadata: { managedFields: [2] } },
      { data: { managedFields: [1] }, metadata: { managedFields: [2] } },
    ],
    [
      "says the name in a string",
      { metadata: { name: '"managedFields":[' } },
      { metadata: { name: '"managedFields":[' } },
    ],
    ["holds null for them", { metadata: { managedFields: null } }, { metadata: { managedFields: null } }],
    [
      "has a number for them, and a list of that name elsewhere",
      { managedFields: [], metadata: { managedFields: 0 } },
      { managedFields: [], metadata: { managedFields: 0 } },
    ],
    ["is no object", 3, 3],
  ])("%s -> nothing else is lost", (_, item, read) => {
    expect(spared(item)).toEqual(read);
  });

  test("any item -> the rest is as JSON.parse reads it", () => {
    const anything = fc.dictionary(fc.constantFrom("managedFields", "metadata", "spec", "a"), fc.jsonValue());
    fc.assert(
      fc.property(anything, anything, (metadata, more) => {
        const read = JSON.stringify(withoutOwn(spared({ ...more, metadata })));
        expect(read).toBe(JSON.stringify(withoutOwn({ ...more, metadata })));
      }),
    );
  });
});

function withoutOwn(item: unknown): unknown {
  const { metadata, ...more } = item as { metadata: Record<string, unknown> };
  const { managedFields: _, ...rest } = metadata;
  return { ...more, metadata: rest };
}
