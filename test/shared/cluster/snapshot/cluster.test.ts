import { describe, expect, it } from "vitest";
import { ClusterError, type ClusterFailure } from "../../../../shared/cluster/cluster.ts";
import { snapshotCluster } from "../../../../shared/cluster/snapshot/cluster.ts";
import type { StoreChange } from "../../../../shared/cluster/snapshot/store.ts";
import { HOLD, RETIRED_LABEL } from "../../../../shared/marks/marks.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../../../shared/objects/object.ts";
import {
  finalizedBy,
  HOME,
  held,
  inNamespace,
  labelled,
  machine,
  metal3MachineTemplate,
  NOON,
  namespace,
  noon,
  object,
  retired,
  terminating,
  withUid,
} from "../../../build/objects.ts";

const template = metal3MachineTemplate("t");
const key = keyOf(template);

function clusterOf(...objects: readonly KubeObject[]) {
  let now = NOON;
  const cluster = snapshotCluster(objects, { now: () => now, ownNamespace: "caretaker" });
  const changes: StoreChange[] = [];
  cluster.onChange((change) => changes.push(change));
  return {
    cluster,
    changes,
    pass: (minutes: number) => {
      now = now.add({ minutes });
    },
    read: async (of: ObjectKey = key): Promise<KubeObject> => {
      const found = await cluster.get(of);
      if (found === undefined) throw new Error("not there");
      return found;
    },
  };
}

async function failureOf(attempt: Promise<unknown>): Promise<ClusterFailure | "done"> {
  try {
    await attempt;
    return "done";
  } catch (error) {
    if (error instanceof ClusterError) return error.failure;
    throw error;
  }
}

const version = (one: KubeObject) => Number(one.metadata.resourceVersion);

describe("reading", () => {
  it("gets an object by key whatever version it was stored at, and undefined where nothing is", async () => {
    const { cluster } = clusterOf(metal3MachineTemplate("t", { version: "v1beta2" }));
    expect((await cluster.get(key))?.apiVersion).toContain("v1beta2");
    expect(await cluster.get({ ...key, name: "u" })).toBeUndefined();
    expect(await cluster.get({ ...key, namespace: "edge" })).toBeUndefined();
    expect(await cluster.get({ ...key, kind: "Other" })).toBeUndefined();
  });

  it.each<[string, Parameters<ReturnType<typeof snapshotCluster>["list"]>[1], readonly string[]]>([
    ["everything of a kind", {}, ["sylva/t", "sylva/old", "edge/t", "sylva/a", "sylva/ab"]],
    ["one namespace", { namespace: "edge" }, ["edge/t"]],
    ["a label key", { label: RETIRED_LABEL }, ["sylva/old"]],
    ["a label key in a namespace", { label: RETIRED_LABEL, namespace: "edge" }, []],
    ["a label's value", { label: "tier=a" }, ["sylva/a", "sylva/ab"]],
    ["a label's value that nothing has", { label: "tier=b" }, []],
    ["two labels' values", { label: "tier=a,zone=b" }, ["sylva/ab"]],
    ["a key and a value", { label: "zone,tier=a" }, ["sylva/ab"]],
  ])("lists %s", async (_, options, expected) => {
    const others = [retired(metal3MachineTemplate("old")), inNamespace(template, "edge"), machine("t")];
    const tiers = [
      labelled(metal3MachineTemplate("a"), { tier: "a" }),
      labelled(metal3MachineTemplate("ab"), { tier: "a", zone: "b" }),
    ];
    const { cluster } = clusterOf(template, ...others, ...tiers);
    const found = await cluster.list(key, options);
    expect(found.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(expected);
  });

  it.each(["tier!=a", "!tier", "tier in (a)", "tier==a"])("refuses the selector %o", async (label) => {
    await expect(clusterOf(template).cluster.list(key, { label })).rejects.toMatchObject({ failure: "invalid" });
  });

  it("lists nothing of a kind it does not have", async () => {
    expect(await clusterOf(template).cluster.list({ group: "no.such.group", kind: "Foo" })).toEqual([]);
  });

  it("discovers each kind once, and keeps one whose last object went", async () => {
    const { cluster, read } = clusterOf(template, metal3MachineTemplate("u"), machine("m"));
    await cluster.delete(await read(keyOf(machine("m"))));
    const { served, hidden } = await cluster.discover();
    expect(served.map(({ kind }) => kind).sort()).toEqual(["Machine", "Metal3MachineTemplate", "Namespace"]);
    expect(hidden).toEqual([]);
    expect(served.find(({ kind }) => kind === "Machine")).toMatchObject({ version: "v1beta1", namespaced: true });
  });

  it("discovers every version that an object is at", async () => {
    const { cluster } = clusterOf(template, machine("m"), machine("n", { version: "v1beta2" }));
    const { versions } = await cluster.discover();
    expect(versions.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
      "infrastructure.cluster.x-k8s.io/v1beta1 Metal3MachineTemplate",
      "cluster.x-k8s.io/v1beta1 Machine",
      "cluster.x-k8s.io/v1beta2 Machine",
    ]);
  });

  it("learns kinds that are created later", async () => {
    const { cluster } = clusterOf(template);
    await cluster.create(object("FooMachine.infrastructure.cluster.x-k8s.io/v1", "m"));
    expect((await cluster.discover()).served.map(({ kind }) => kind)).toContain("FooMachine");
  });

  it("hands out what cannot be changed, however deep", async () => {
    const { cluster, read } = clusterOf(labelled(template, { a: "1" }));
    const pages = await Array.fromAsync(cluster.pages(key));
    for (const one of [await read(), ...(await cluster.list(key)), ...pages.flat()]) {
      expect(() => Object.assign(one, { kind: "Other" })).toThrow(TypeError);
      expect(() => Object.assign(one.metadata, { labels: {} })).toThrow(TypeError);
      expect(() => Object.assign(one.metadata.labels ?? {}, { a: "2" })).toThrow(TypeError);
      expect(() => Object.assign(one.spec ?? {}, { x: 1 })).toThrow(TypeError);
    }
  });

  it("does not touch what it was given", async () => {
    const given = structuredClone(template);
    const { cluster, read } = clusterOf(given);
    const before = await read();
    given.metadata.labels = { x: "y" };
    given.kind = "Other";
    expect(await read()).toEqual(before);
    expect(await cluster.list(key)).toEqual([before]);
  });

  it("lists metadata alone where that is asked for, as the API server does", async () => {
    const { cluster, read } = clusterOf(template, retired(metal3MachineTemplate("old")));
    const { apiVersion, kind, metadata } = await read();
    const options = { metadataOnly: true, namespace: HOME };
    const [first, second] = await cluster.list(key, options);
    expect(first).toEqual({ apiVersion, kind, metadata });
    expect(second?.metadata.labels).toEqual({ [RETIRED_LABEL]: expect.any(String) });
    expect((await Array.fromAsync(cluster.pages(key, options))).flat()).toEqual([first, second]);
  });

  it.each([
    ["nothing", 0, []],
    ["less than a page", 3, [3]],
    ["exactly one page", 500, [500]],
    ["one more", 501, [500, 1]],
    ["some", 1100, [500, 500, 100]],
  ])("pages of %s -> $2", async (_, count, sizes) => {
    const { cluster } = clusterOf(...Array.from({ length: count }, (_, n) => metal3MachineTemplate(`t-${n}`)));
    const pages = await Array.fromAsync(cluster.pages(key));
    expect(pages.map(({ length }) => length)).toEqual(sizes);
    expect(pages.flat()).toEqual(await cluster.list(key));
  });

  it("pages tell one state, whatever happens between them", async () => {
    const { cluster, read } = clusterOf(...Array.from({ length: 501 }, (_, n) => metal3MachineTemplate(`t-${n}`)));
    const before = await cluster.list(key);
    const seen: KubeObject[] = [];
    for await (const page of cluster.pages(key)) {
      seen.push(...page);
      if (seen.length === 500) await cluster.delete(await read({ ...key, name: "t-500" }));
    }
    expect(seen).toEqual(before);
  });

  it("gives every object a uid and a resourceVersion, and leaves those that have one", async () => {
    const bare = object("ConfigMap.v1", "bare", { metadata: { uid: undefined } });
    const dumped = object("ConfigMap.v1", "dumped", { metadata: { uid: "u-1", resourceVersion: "4711" } });
    const { cluster } = clusterOf(bare, dumped);
    const [first, second] = [await cluster.get(keyOf(bare)), await cluster.get(keyOf(dumped))];
    expect(first?.metadata.uid).toMatch(/./);
    expect(first?.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(second?.metadata).toMatchObject({ uid: "u-1", resourceVersion: "4711" });
  });
});

describe("preconditions of a write", () => {
  const writes = {
    patch: (cluster: ReturnType<typeof snapshotCluster>, one: KubeObject) =>
      cluster.patch(one, { metadata: { labels: { x: "y" } } }),
    delete: (cluster: ReturnType<typeof snapshotCluster>, one: KubeObject) => cluster.delete(one),
  };

  describe.each(["patch", "delete"] as const)("%s", (write) => {
    it.each<[string, (one: KubeObject) => KubeObject, ClusterFailure | "done"]>([
      ["as it was last read", (one) => one, "done"],
      [
        "of another resourceVersion",
        (one) => ({ ...one, metadata: { ...one.metadata, resourceVersion: "1" } }),
        "conflict",
      ],
      ["of another uid", (one) => withUid(one, "other"), "conflict"],
      [
        "without a resourceVersion",
        (one) => ({ ...one, metadata: { ...one.metadata, resourceVersion: undefined } }),
        "conflict",
      ],
      ["that is not there", (one) => ({ ...one, metadata: { ...one.metadata, name: "u" } }), "not-found"],
    ])("of an object %s -> $2", async (_, change, expected) => {
      const { cluster, read } = clusterOf(
        object("ConfigMap.v1", "x", { metadata: { resourceVersion: "50" } }),
        template,
      );
      expect(await failureOf(writes[write](cluster, change(await read())))).toBe(expected);
    });

    it("of an object that was deleted and created again under its name -> conflict", async () => {
      const { cluster, read } = clusterOf(template);
      const before = await read();
      await cluster.delete(before);
      await cluster.create(template);
      expect(await failureOf(writes[write](cluster, before))).toBe("conflict");
    });
  });

  it("a refused write changes nothing and tells nothing", async () => {
    const { cluster, changes, read } = clusterOf(template);
    const before = await read();
    await failureOf(cluster.patch(withUid(before, "other"), { metadata: { labels: { x: "y" } } }));
    expect(await read()).toEqual(before);
    expect(changes).toEqual([]);
  });
});

describe("patch", () => {
  it("merges, removes with null, raises the resourceVersion and returns what is stored", async () => {
    const { cluster, read } = clusterOf(labelled(template, { a: "1", b: "2" }));
    const before = await read();
    const after = await cluster.patch(before, { metadata: { labels: { a: null, c: "3" } }, spec: { x: 1 } });
    expect(after?.metadata.labels).toEqual({ b: "2", c: "3" });
    expect(after?.spec).toMatchObject({ x: 1, template: {} });
    expect(version(after ?? before)).toBeGreaterThan(version(before));
    expect(await read()).toEqual(after);
  });

  it.each([
    ["an empty patch", {}],
    ["what already is so", { metadata: { labels: { a: "1" } } }],
    ["the removal of what is not there", { metadata: { annotations: null }, status: null }],
  ])("%s changes no resourceVersion and tells nothing", async (_, patch) => {
    const born = labelled(template, { a: "1" });
    const unborn = object("ConfigMap.v1", "c", { metadata: { labels: { a: "1" }, creationTimestamp: undefined } });
    const { creationTimestamp: _born, ...metadata } = unborn.metadata;
    for (const one of [born, { ...unborn, metadata }]) {
      const { cluster, changes, read } = clusterOf(one);
      const before = await read(keyOf(one));
      expect(await cluster.patch(before, patch)).toEqual(before);
      expect(changes).toEqual([]);
    }
  });

  it("cannot change what only the server writes", async () => {
    const { cluster, read } = clusterOf(template);
    const { uid, creationTimestamp } = (await read()).metadata;
    const metadata = {
      uid: "mine",
      creationTimestamp: null,
      deletionTimestamp: "2026-01-01T00:00:00Z",
      resourceVersion: "9",
    };
    const after = await cluster.patch(await read(), { metadata: { ...metadata, labels: { x: "y" } } });
    expect(after?.metadata).toMatchObject({ uid, creationTimestamp });
    expect(after?.metadata.resourceVersion).not.toBe("9");
    expect(after?.metadata.deletionTimestamp).toBeUndefined();
  });

  it("cannot take the deletionTimestamp off", async () => {
    const { cluster, read } = clusterOf(terminating(held(template)));
    const after = await cluster.patch(await read(), { metadata: { deletionTimestamp: null, labels: { x: "y" } } });
    expect(after?.metadata.deletionTimestamp).toBe("2026-09-01T12:00:00Z");
  });

  it("that makes it no object -> invalid", async () => {
    const { cluster, read } = clusterOf(template);
    expect(await failureOf(cluster.patch(await read(), { metadata: { labels: { x: 5 } } }))).toBe("invalid");
  });
});

describe("finalizers", () => {
  it("delete without one -> gone at once", async () => {
    const { cluster, changes, read } = clusterOf(template);
    await cluster.delete(await read());
    expect(await cluster.get(key)).toBeUndefined();
    expect(changes.map(({ type }) => type)).toEqual(["delete"]);
  });

  it("delete with one -> Terminating since now, told as an update", async () => {
    const { cluster, changes, read, pass } = clusterOf(held(template));
    pass(5);
    await cluster.delete(await read());
    expect((await read()).metadata).toMatchObject({ deletionTimestamp: "2026-09-01T12:05:00Z", finalizers: [HOLD] });
    expect(changes.map(({ type }) => type)).toEqual(["update"]);
  });

  it("delete of a Terminating one changes nothing", async () => {
    const { cluster, changes, read, pass } = clusterOf(held(template));
    await cluster.delete(await read());
    const before = await read();
    pass(5);
    await cluster.delete(before);
    expect(await read()).toEqual(before);
    expect(changes).toHaveLength(1);
  });

  it.each([
    ["an empty list", []],
    ["null", null],
  ])("the last one off a Terminating object, as %s -> gone", async (_, finalizers) => {
    const { cluster, changes, read } = clusterOf(terminating(held(template)));
    expect(await cluster.patch(await read(), { metadata: { finalizers } })).toBeUndefined();
    expect(await cluster.get(key)).toBeUndefined();
    expect(changes.map(({ type }) => type)).toEqual(["delete"]);
  });

  it("one of two off a Terminating object -> it stays for the other", async () => {
    const { cluster, read } = clusterOf(terminating(finalizedBy(held(template), "other/finalizer")));
    const left = await cluster.patch(await read(), { metadata: { finalizers: ["other/finalizer"] } });
    expect(left?.metadata.finalizers).toEqual(["other/finalizer"]);
    expect(await read()).toEqual(left);
  });

  it("the last one off an object that is not Terminating -> it stays", async () => {
    const { cluster, read } = clusterOf(held(template));
    expect(await cluster.patch(await read(), { metadata: { finalizers: [] } })).toBeDefined();
    expect(await cluster.get(key)).toBeDefined();
  });

  it.each([
    ["a new one on a Terminating object", terminating(held(template)), [HOLD, "new/one"], "invalid"],
    ["a new one in the place of the old", terminating(held(template)), ["new/one"], "invalid"],
    ["the same in another order", terminating(finalizedBy(held(template), "b/b")), ["b/b", HOLD], "done"],
    ["a new one on a live object", template, [HOLD], "done"],
  ])("%s -> $3", async (_, one, finalizers, expected) => {
    const { cluster, read } = clusterOf(one);
    expect(await failureOf(cluster.patch(await read(), { metadata: { finalizers } }))).toBe(expected);
  });

  it("other changes to a Terminating object are taken", async () => {
    const { cluster, read } = clusterOf(terminating(held(template)));
    expect(await failureOf(cluster.patch(await read(), { metadata: { annotations: { x: "y" } } }))).toBe("done");
  });
});

describe("create", () => {
  it("gives a new uid, the time and managedFields, and takes no deletionTimestamp along", async () => {
    const { cluster, changes, read, pass } = clusterOf(namespace());
    pass(7);
    const created = await cluster.create(terminating(held(template)));
    expect(created.metadata).toMatchObject({ creationTimestamp: "2026-09-01T12:07:00Z", finalizers: [HOLD] });
    expect(created.metadata.uid).not.toBe(template.metadata.uid);
    expect(created.metadata.deletionTimestamp).toBeUndefined();
    expect(created.metadata.managedFields).toEqual([expect.objectContaining({ manager: "capi-caretaker" })]);
    expect(await read()).toEqual(created);
    expect(changes).toEqual([{ type: "add", object: created }]);
  });

  it("does not keep the caller's object", async () => {
    const { cluster, read } = clusterOf(namespace());
    const mine = structuredClone(template);
    await cluster.create(mine);
    mine.metadata.labels = { x: "y" };
    expect((await read()).metadata.labels).toBeUndefined();
  });

  it.each<[string, readonly KubeObject[], ClusterFailure | "done"]>([
    ["a namespace that is there", [namespace()], "done"],
    ["a namespace that holds something, though nobody listed it", [machine("m")], "done"],
    ["no such namespace", [], "not-found"],
    ["a Terminating namespace", [terminating(finalizedBy(namespace(), "kubernetes"))], "forbidden"],
    ["a Terminating namespace where it stands already", [terminating(namespace()), template], "forbidden"],
    ["the same object standing", [template], "already-exists"],
    ["a Terminating one standing", [terminating(held(template))], "already-exists"],
    ["another version of it standing", [metal3MachineTemplate("t", { version: "v1beta2" })], "already-exists"],
    ["one of its name in another namespace", [inNamespace(template, "edge"), namespace()], "done"],
    ["one of its name of another kind", [object("FooTemplate.infrastructure.cluster.x-k8s.io/v1", "t")], "done"],
  ])("with %s -> $2, dry run or not", async (_, objects, expected) => {
    expect(await failureOf(clusterOf(...objects).cluster.create(template, { dryRun: true }))).toBe(expected);
    expect(await failureOf(clusterOf(...objects).cluster.create(template))).toBe(expected);
  });

  it("a dry run stores, tells and learns nothing, and returns what would be", async () => {
    const { cluster, changes } = clusterOf(namespace());
    expect((await cluster.create(template, { dryRun: true })).metadata.uid).toMatch(/./);
    expect(await cluster.get(key)).toBeUndefined();
    expect(changes).toEqual([]);
    expect((await cluster.discover()).served.map(({ kind }) => kind)).toEqual(["Namespace"]);
  });

  it("our own namespace is there", async () => {
    expect(await failureOf(clusterOf().cluster.create(inNamespace(template, "caretaker")))).toBe("done");
  });

  it("a cluster-scoped object needs no namespace", async () => {
    expect(await failureOf(clusterOf().cluster.create(namespace("new")))).toBe("done");
  });
});

describe("the memory of deletions", () => {
  async function deletedOnce() {
    const world = clusterOf(labelled(template, { last: "state" }));
    await world.cluster.delete(await world.read());
    const [change] = world.changes;
    return { ...world, at: change?.object.metadata.resourceVersion ?? "" };
  }

  it("replays the last state, at the resourceVersion of the deletion", async () => {
    const { cluster, at, changes } = await deletedOnce();
    const body = await cluster.deleted(key, at);
    expect(body?.metadata.labels).toEqual({ last: "state" });
    expect(body?.metadata.resourceVersion).toBe(at);
    expect(body).toEqual(changes[0]?.object);
  });

  it("of a finalized object -> with what the last patch left, finalizers gone", async () => {
    const { cluster, changes, read } = clusterOf(terminating(held(template)));
    await cluster.patch(await read(), { metadata: { finalizers: [], annotations: { x: "y" } } });
    const body = await cluster.deleted(key, changes[0]?.object.metadata.resourceVersion ?? "");
    expect(body?.metadata).toMatchObject({ finalizers: [], annotations: { x: "y" }, uid: template.metadata.uid });
  });

  it("from a later resourceVersion -> it saw no deletion", async () => {
    const { cluster, at } = await deletedOnce();
    expect(await cluster.deleted(key, String(Number(at) + 1))).toBeUndefined();
  });

  it("of what was never deleted, or stands under another key -> none", async () => {
    const { cluster, at } = await deletedOnce();
    expect(await cluster.deleted({ ...key, namespace: "edge" }, at)).toBeUndefined();
    expect(await cluster.deleted({ ...key, kind: "Other" }, at)).toBeUndefined();
    expect(await clusterOf(template).cluster.deleted(key, "1")).toBeUndefined();
  });

  it("keeps each of several deletions of one name", async () => {
    const { cluster, at, changes, read } = await deletedOnce();
    await cluster.create(labelled(template, { second: "life" }));
    await cluster.delete(await read());
    expect((await cluster.deleted(key, at))?.metadata.labels).toBeDefined();
    const second = changes.at(-1)?.object.metadata.resourceVersion ?? "";
    expect((await cluster.deleted(key, second))?.metadata.labels).toEqual({ second: "life" });
  });

  it("hands out what cannot be changed", async () => {
    const { cluster, at } = await deletedOnce();
    const body = await cluster.deleted(key, at);
    expect(() => Object.assign(body?.metadata ?? {}, { labels: {} })).toThrow(TypeError);
    expect((await cluster.deleted(key, at))?.metadata.labels).toEqual({ last: "state" });
  });
});

describe("changes and Events", () => {
  it("tells every change once, in order, after it happened, with rising resourceVersions", async () => {
    const { cluster, changes, read } = clusterOf(namespace());
    const seen: boolean[] = [];
    cluster.onChange(({ object }) => seen.push(cluster.all().some((one) => one.metadata.uid === object.metadata.uid)));
    await cluster.create(template);
    await cluster.patch(await read(), { metadata: { finalizers: [HOLD] } });
    await cluster.delete(await read());
    await cluster.patch(await read(), { metadata: { finalizers: [] } });
    expect(changes.map(({ type }) => type)).toEqual(["add", "update", "update", "delete"]);
    expect(seen).toEqual([true, true, true, false]);
    const versions = changes.map(({ object }) => version(object));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(versions).size).toBe(4);
  });

  it("starts above the highest resourceVersion of what it was given", async () => {
    const dumped = object("ConfigMap.v1", "c", { metadata: { resourceVersion: "90071992547409931" } });
    const { cluster } = clusterOf(dumped, template);
    const created = await cluster.create(metal3MachineTemplate("u"));
    expect(BigInt(created.metadata.resourceVersion ?? 0)).toBeGreaterThan(90071992547409931n);
  });

  it("records the same reason and note on the same object once", async () => {
    const { cluster, read } = clusterOf(template, metal3MachineTemplate("u"));
    const event = { regarding: await read(), type: "Normal", reason: "Held", action: "Hold", note: "n" } as const;
    await cluster.record(event);
    await cluster.record(event);
    await cluster.record({ ...event, note: "other" });
    await cluster.record({ ...event, regarding: metal3MachineTemplate("u") });
    expect(cluster.events().map(({ regarding, note }) => `${regarding.metadata.name} ${note}`)).toEqual([
      "t n",
      "t other",
      "u n",
    ]);
  });

  it("goes by the clock it is given", async () => {
    const cluster = snapshotCluster([namespace()], { now: () => noon(90) });
    expect((await cluster.create(inNamespace(template, HOME))).metadata.creationTimestamp).toBe("2026-09-01T13:30:00Z");
  });
});
