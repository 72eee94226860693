import { describe, expect, test } from "vitest";
import { earlierOwners, givenBack, ownersOf, writerOf } from "../../functions/rewrite-urls/managed-fields.ts";
import { stringsUnder, withString } from "../../functions/rewrite-urls/strings.ts";
import { FIELD_MANAGER } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { object } from "../build/objects.ts";

type Fields = Record<string, unknown>;

const OURS = FIELD_MANAGER;

function entry(manager: string, spec: Fields, operation = "Apply", time = "2026-09-01T00:00:00Z") {
  return { manager, operation, apiVersion: "x/v1", time, fieldsType: "FieldsV1", fieldsV1: { "f:spec": spec } };
}

function holding(spec: Fields, ...managedFields: ReturnType<typeof entry>[]): KubeObject {
  return object("Foo.x/v1", "foo", { spec, metadata: { managedFields } });
}

/** The shares of each former owner when the string at `path` becomes "new". */
function shares(one: KubeObject, path: string, to = "new"): Fields {
  const places = stringsUnder(one, "spec").filter((place) => place.path === path);
  const spec = places.reduce<unknown>((value, { steps }) => withString(value, steps.slice(1), to), one.spec);
  return Object.fromEntries(ownersOf(one, { ...one, spec }, places).map(({ manager, fields }) => [manager, fields]));
}

const plain = { image: { url: "old", checksum: "c" } };
const url = { "f:image": { "f:url": {} } };

describe("who owns a string", () => {
  const rows: readonly (readonly [string, KubeObject, string, Fields])[] = [
    ["one manager", holding(plain, entry("helm", url)), "spec.image.url", { helm: { "f:spec": url } }],
    [
      "two managers",
      holding(plain, entry("helm", url), entry("kubectl", url, "Update")),
      "spec.image.url",
      { helm: { "f:spec": url }, kubectl: { "f:spec": url } },
    ],
    [
      "a manager of the field beside it",
      holding(plain, entry("helm", { "f:image": { "f:checksum": {} } })),
      "spec.image.url",
      {},
    ],
    [
      "a manager of the whole",
      holding(plain, entry("helm", { "f:image": {} })),
      "spec.image.url",
      { helm: { "f:spec": { "f:image": {} } } },
    ],
    ["we ourselves", holding(plain, entry(OURS, url, "Update")), "spec.image.url", {}],
    ["nobody", holding(plain), "spec.image.url", {}],
    [
      "a manager of an atomic list",
      holding({ mirrors: { endpoint: ["a", "old"] } }, entry("helm", { "f:mirrors": { "f:endpoint": {} } })),
      "spec.mirrors.endpoint[1]",
      { helm: { "f:spec": { "f:mirrors": { "f:endpoint": {} } } } },
    ],
    [
      "a manager of a set's item, which goes by its new value",
      holding({ urls: ["a", "old"] }, entry("helm", { "f:urls": { 'v:"old"': {} } })),
      "spec.urls[1]",
      { helm: { "f:spec": { "f:urls": { 'v:"new"': {} } } } },
    ],
    [
      "a manager of a keyed item",
      holding(
        { args: [{ name: "x", value: "old" }] },
        entry("helm", { "f:args": { 'k:{"name":"x"}': { ".": {}, "f:name": {}, "f:value": {} } } }),
      ),
      "spec.args[0].value",
      { helm: { "f:spec": { "f:args": { 'k:{"name":"x"}': { "f:value": {} } } } } },
    ],
    [
      "a manager of an item whose key changes",
      holding(
        { args: [{ name: "x", value: "old" }] },
        entry("helm", { "f:args": { 'k:{"name":"x","value":"old"}': { ".": {}, "f:name": {}, "f:value": {} } } }),
      ),
      "spec.args[0].value",
      {
        helm: { "f:spec": { "f:args": { 'k:{"name":"x","value":"new"}': { ".": {}, "f:name": {}, "f:value": {} } } } },
      },
    ],
  ];
  test.each(rows)("%s -> its share", (_situation, one, path, outcome) => {
    expect(shares(one, path)).toEqual(outcome);
  });
});

test("a key with what Go escapes -> named as the API server does", () => {
  const one = holding({ urls: ["old"] }, entry("helm", { "f:urls": { 'v:"old"': {} } }));
  expect(shares(one, "spec.urls[0]", "http://h/?<a>&b")).toEqual({
    helm: { "f:spec": { "f:urls": { 'v:"http://h/?\\u003ca\\u003e\\u0026b"': {} } } },
  });
});

describe("giving a field back", () => {
  const place = stringsUnder(holding(plain), "spec").filter(({ path }) => path === "spec.image.url");
  const helm = { manager: "helm", operation: "Apply", apiVersion: "x/v1", fields: { "f:spec": url } };
  const marks = { "f:metadata": { "f:annotations": { "f:x": {} } } };
  const oursWithMarks = { ...entry(OURS, url, "Update"), fieldsV1: { ...marks, "f:spec": url } };
  const checksum = { "f:image": { "f:checksum": {} } };
  const both = { "f:image": { "f:checksum": {}, "f:url": {} } };

  /** Each manager with its fields, after. */
  const fieldsAfter = (one: KubeObject, owners: Parameters<typeof givenBack>[1]) =>
    Object.fromEntries(givenBack(one, owners, place).map(({ manager, fieldsV1 }) => [manager, fieldsV1]));

  test("its owner owns more -> its entry has it again, ours keeps our marks", () => {
    expect(fieldsAfter(holding(plain, entry("helm", checksum), oursWithMarks), [helm])).toEqual({
      helm: { "f:spec": both },
      [OURS]: marks,
    });
  });

  test("its owner owned nothing else -> it gets an entry; ours, left empty, goes", () => {
    expect(fieldsAfter(holding(plain, entry(OURS, url, "Update")), [helm])).toEqual({ helm: { "f:spec": url } });
  });

  test("nobody owned it -> nobody owns it", () => {
    expect(fieldsAfter(holding(plain, entry(OURS, url, "Update")), [])).toEqual({});
  });

  test("someone took it in between -> it stays theirs", () => {
    const taken = holding(plain, entry("flux", url), { ...oursWithMarks, fieldsV1: marks as never });
    expect(fieldsAfter(taken, [helm])).toEqual({ flux: { "f:spec": url }, [OURS]: marks });
  });

  test("another entry of the same manager -> left alone", () => {
    const one = holding(plain, entry("helm", checksum, "Update"), oursWithMarks);
    const entries = givenBack(one, [helm], place);
    expect(entries.filter(({ manager }) => manager === "helm").map(({ operation }) => operation)).toEqual([
      "Update",
      "Apply",
    ]);
  });

  test("we own other fields of the spec, as after a restore cut short -> they stay ours", () => {
    expect(fieldsAfter(holding(plain, entry(OURS, both, "Update")), [])).toEqual({ [OURS]: { "f:spec": checksum } });
  });

  test("a second write before the first was given back -> the first owners count", () => {
    const ours = { ...helm, manager: "second" };
    expect(earlierOwners([helm], [{ ...helm, fields: { "f:spec": checksum } }, ours])).toEqual([
      { ...helm, fields: { "f:spec": both } },
      ours,
    ]);
  });

  test("the last of several owners -> the writer", () => {
    const one = holding(
      plain,
      entry("a", url, "Apply", "2026-09-01T00:00:02Z"),
      entry("b", url, "Apply", "2026-09-01T00:00:01Z"),
    );
    expect(place.map((at) => writerOf(one, at))).toEqual(["a"]);
    expect(place.map((at) => writerOf(holding(plain), at))).toEqual([undefined]);
  });
});
