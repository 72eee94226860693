import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findIn } from "../../functions/rewrite-urls/findings.ts";
import { OUR_ANNOTATIONS } from "../../functions/rewrite-urls/record.ts";
import { stringsUnder } from "../../functions/rewrite-urls/strings.ts";
import { decideUndo, decideUndoAll, undo } from "../../functions/rewrite-urls/undo.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { DELETE_FOR_MOVE, RETAIN } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { stringAt } from "../../shared/objects/path.ts";
import { type Bench, bench } from "../build/bench.ts";
import { annotated, cluster, metal3MachineTemplate, object, ownedBy } from "../build/objects.ts";
import { applied, managed, ownersAt } from "./managed.ts";
import { factsOf, IMAGE_URL, image, NEW, OLD, RULES, under, withSpec } from "./world.ts";

const FILE = `${OLD}/os.qcow2`;
const template = withSpec(metal3MachineTemplate("t"), image({ url: FILE }));

async function rewritten(one: KubeObject = template): Promise<{ world: Bench; live: KubeObject }> {
  const world = bench([one], {}, managed);
  await world.sweep(under(RULES));
  return { world, live: await world.live(one) };
}

/** An object without what every write changes. */
function content({ metadata: { resourceVersion: _, ...metadata }, ...rest }: KubeObject): object {
  return { ...rest, metadata };
}

describe("undoing", () => {
  test("as we left it -> the old URL, no mark of ours, the field with its owner", async () => {
    const byHelm = {
      ...template,
      metadata: { ...template.metadata, managedFields: [applied("helm", template, IMAGE_URL)] },
    };
    const { world } = await rewritten(byHelm);
    expect(await undo(world.context, keyOf(byHelm), factsOf([]).graph)).toBe(true);
    const live = await world.live(byHelm);
    expect(stringAt(live, IMAGE_URL)).toBe(FILE);
    expect(live.metadata.annotations).toBeUndefined();
    expect(ownersAt(live, IMAGE_URL)).toEqual(["helm"]);
  });

  test("its owner has set another URL since -> that stays, only our marks go", async () => {
    const { world, live } = await rewritten();
    await world.cluster.patch(live, { spec: image({ url: "https://chart/os" }) });
    expect(await undo(world.context, keyOf(template), factsOf([]).graph)).toBe(true);
    const after = await world.live(template);
    expect(stringAt(after, IMAGE_URL)).toBe("https://chart/os");
    expect(after.metadata.annotations).toBeUndefined();
  });

  test("cut short before the field was given back -> the next try does it", async () => {
    const byHelm = {
      ...template,
      metadata: { ...template.metadata, managedFields: [applied("helm", template, IMAGE_URL)] },
    };
    const { world } = await rewritten(byHelm);
    let left = 1;
    const crashing = {
      ...world.context.cluster,
      patch: async (...args: Parameters<Cluster["patch"]>) => {
        left -= 1;
        if (left === -1) throw new Error("crash");
        return world.context.cluster.patch(...args);
      },
    };
    const tryIt = () => undo({ ...world.context, cluster: crashing }, keyOf(byHelm), factsOf([]).graph);
    await expect(tryIt()).rejects.toThrow("crash");
    expect(ownersAt(await world.live(byHelm), IMAGE_URL)).toEqual(["capi-caretaker"]);
    expect(await tryIt()).toBe(true);
    const live = await world.live(byHelm);
    expect(ownersAt(live, IMAGE_URL)).toEqual(["helm"]);
    expect(stringAt(live, IMAGE_URL)).toBe(FILE);
    expect(live.metadata.annotations).toBeUndefined();
  });

  test("gone -> nothing", async () => {
    expect(await undo(bench([]).context, keyOf(template), factsOf([]).graph)).toBe(false);
  });

  test("decided before it is done -> path, the URL now and the one to come", async () => {
    const { live } = await rewritten();
    expect(decideUndoAll([live, metal3MachineTemplate("other")], factsOf([]).graph)).toEqual([
      {
        object: keyOf(live),
        decision: {
          verdict: "rewrite",
          because: "undo",
          changes: [{ path: IMAGE_URL, from: `${NEW}/os.qcow2`, to: FILE }],
        },
      },
    ]);
  });

  test.each([
    ["never rewritten", template, [], "leave not-rewritten"],
    ["its Cluster is paused", ownedBy(template, cluster()), [cluster("mgmt", { paused: true })], "wait cluster-paused"],
    ["opted out", annotated(template, { [RETAIN]: "false" }), [], "leave opted-out"],
    ["deleted for a move", annotated(template, { [DELETE_FOR_MOVE]: "" }), [], "leave off-limits"],
  ] as const)("%s -> %s", async (situation, one, others, outcome) => {
    const { live } = await rewritten();
    const marks = situation === "never rewritten" ? {} : (live.metadata.annotations ?? {});
    const { verdict, because } = decideUndo(annotated(one, marks), factsOf(others).graph);
    expect(`${verdict} ${because}`).toBe(outcome);
  });
});

describe("whatever the object holds", () => {
  const host = fc.constantFrom("10.10.10.17", "10.10.10.170", "172.20.0.10", "other.example");
  const url = fc
    .tuple(
      fc.constantFrom("http", "https", "oci"),
      host,
      fc.constantFrom("", ":80", ":8080"),
      fc.webPath(),
      fc.webQueryParameters(),
    )
    .map(([scheme, name, port, path, query]) => `${scheme}://${name}${port}${path}${query === "" ? "" : `?${query}`}`);
  const text = fc.oneof(
    url,
    fc.string(),
    url.map((one) => `curl ${one} -o x`),
  );
  const tree = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      text,
      fc.boolean(),
      fc.array(tie("node"), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(fc.constantFrom("url", "files", "docker.io", "0"), fc.string({ minLength: 1 })),
        tie("node"),
        {
          maxKeys: 4,
          noNullPrototype: true,
        },
      ),
    ),
  })).node;
  const bootstrap = fc
    .record({ spec: tree, annotations: fc.constantFrom(undefined, { kept: "yes" }) })
    .map(({ spec, annotations }) =>
      object("RKE2ConfigTemplate.bootstrap.cluster.x-k8s.io/v1beta1", "t", {
        spec: { template: { spec } },
        ...(annotations && { metadata: { annotations } }),
      }),
    );

  test("rewriting -> changes the found paths and nothing else, once; undoing -> the exact object", async () => {
    await fc.assert(
      fc.asyncProperty(bootstrap, async (one) => {
        const world = bench([one]);
        const before = await world.live(one);
        const { changes } = findIn(before, RULES);
        await world.sweep(under(RULES));
        const after = await world.live(one);
        const expected = new Map(changes.map(({ path, to }) => [path, to]));
        expect(stringsUnder(after, "spec")).toEqual(
          stringsUnder(before, "spec").map((at) => ({ ...at, value: expected.get(at.path) ?? at.value })),
        );
        const { annotations: _, ...metadata } = after.metadata;
        expect({ ...metadata, resourceVersion: 0 }).toEqual({ ...withoutAnnotations(before), resourceVersion: 0 });
        const writes = world.changes.length;
        await world.sweep(under(RULES));
        expect(world.changes).toHaveLength(writes);
        await undo(world.context, keyOf(one), factsOf([]).graph);
        expect(content(await world.live(one))).toEqual(content(before));
      }),
      { numRuns: 200 },
    );
  });

  function withoutAnnotations({ metadata: { annotations: _, ...metadata } }: KubeObject): object {
    return metadata;
  }

  test("our annotations -> none of them is left out of the undoing", async () => {
    const { live } = await rewritten();
    const marked = annotated(
      live,
      Object.fromEntries(OUR_ANNOTATIONS.map((name) => [name, live.metadata.annotations?.[name] ?? "{}"])),
    );
    const world = bench([marked]);
    await undo(world.context, keyOf(marked), factsOf([]).graph);
    expect((await world.live(marked)).metadata.annotations).toBeUndefined();
  });

  test("two paths that read alike -> told apart", () => {
    const spec = { a: { "0": "x", "b.c": "x", b: { c: "x" }, "d]": "x", d: ["x"] } };
    const paths = stringsUnder({ spec }, "spec").map(({ path }) => path);
    expect(paths).toEqual(['spec.a["0"]', "spec.a[b.c]", "spec.a.b.c", 'spec.a["d]"]', "spec.a.d[0]"]);
    expect(new Set(paths).size).toBe(5);
  });
});
