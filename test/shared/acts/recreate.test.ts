import { describe, expect, it } from "vitest";
import { bodyToCreate, giveBackManagedFields, lacksManagedFields, recreate } from "../../../shared/acts/recreate.ts";
import { HOLD, RENEWED_AT, RETIRED_AT, RETIRED_LABEL, UNNEEDED_SINCE } from "../../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import { bench } from "../../build/bench.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  HOME,
  held,
  inNamespace,
  kubeadmControlPlane,
  labelled,
  metal3Machine,
  metal3MachineTemplate,
  NOON,
  namespace,
  noon,
  ownedBy,
  retired,
  terminating,
  withUid,
} from "../../build/objects.ts";

const mgmt = cluster();
const owner = { apiVersion: mgmt.apiVersion, kind: "Cluster", name: "mgmt", uid: "u" };
const HELM = { manager: "helm", operation: "Apply", fieldsV1: { "f:spec": { "f:template": {} } } };
const OURS = { manager: "capi-caretaker", operation: "Update", fieldsV1: { "f:spec": {} } };

type Entry = { readonly manager: string; readonly operation?: string; readonly fieldsV1?: unknown };

const withFields = (one: KubeObject, ...managedFields: Entry[]): KubeObject => ({
  ...one,
  metadata: { ...one.metadata, managedFields },
});

describe("bodyToCreate", () => {
  const old = terminating(
    annotated(labelled(metal3MachineTemplate("t"), { app: "sylva" }), { note: "kept" }),
    noon(-10),
  );
  const full: KubeObject = {
    ...withFields(held(old), HELM),
    status: { gone: true },
    metadata: {
      ...withFields(held(old), HELM).metadata,
      resourceVersion: "7",
      generation: 3,
      selfLink: "/x",
      deletionGracePeriodSeconds: 0,
    },
  };

  it("keeps apiVersion, kind, spec, name, namespace, labels and annotations; drops what only the server writes", () => {
    expect(bodyToCreate(full, "retired", [], NOON)).toEqual({
      apiVersion: full.apiVersion,
      kind: full.kind,
      spec: full.spec,
      metadata: {
        name: "t",
        namespace: HOME,
        labels: { app: "sylva", [RETIRED_LABEL]: "true" },
        annotations: { note: "kept", [RETIRED_AT]: "2026-09-01T11:50:00Z" },
        finalizers: [HOLD],
      },
    });
  });

  it.each([
    ["when its deletion was asked for", terminating(old, noon(-5)), "2026-09-01T11:55:00Z"],
    ["what it said before", retired(old, noon(-60)), "2026-09-01T11:00:00Z"],
    ["now, where nothing says since when", metal3MachineTemplate("t"), "2026-09-01T12:00:00Z"],
    [
      "now, where the mark is no time",
      annotated(metal3MachineTemplate("t"), { [RETIRED_AT]: "soon" }),
      "2026-09-01T12:00:00Z",
    ],
  ])("retired since %s", (_, body, expected) => {
    expect(bodyToCreate(body, "retired", [], NOON).metadata.annotations?.[RETIRED_AT]).toBe(expected);
  });

  it("as renewed: no mark of retirement is left, and when it was renewed", () => {
    const marked = annotated(retired(old), {
      [UNNEEDED_SINCE]: "2026-09-01T00:00:00Z",
      [RENEWED_AT]: "2026-08-01T00:00:00Z",
    });
    const { metadata } = bodyToCreate(marked, "renewed", [], NOON);
    expect(metadata.annotations).toEqual({ note: "kept", [RENEWED_AT]: "2026-09-01T12:00:00Z" });
    expect(metadata.labels).toEqual({ app: "sylva" });
    expect(metadata.finalizers).toEqual([HOLD]);
  });

  it("as retired: when it was renewed before stays, what was unneeded starts anew", () => {
    const marked = annotated(retired(old), {
      [UNNEEDED_SINCE]: "2026-09-01T00:00:00Z",
      [RENEWED_AT]: "2026-08-01T00:00:00Z",
    });
    const { annotations } = bodyToCreate(marked, "retired", [], NOON).metadata;
    expect(annotations).toMatchObject({ [RENEWED_AT]: "2026-08-01T00:00:00Z" });
    expect(annotations).not.toHaveProperty(UNNEEDED_SINCE);
  });

  it("takes no finalizer of others along, and its owners only as given", () => {
    const body = ownedBy(finalizedBy(held(old), "other/one"), mgmt);
    expect(bodyToCreate(body, "retired", [], NOON).metadata).toMatchObject({ finalizers: [HOLD] });
    expect(bodyToCreate(body, "retired", [], NOON).metadata).not.toHaveProperty("ownerReferences");
    expect(bodyToCreate(body, "retired", [owner], NOON).metadata.ownerReferences).toEqual([owner]);
  });

  it("an object without labels and annotations", () => {
    const body = { ...metal3MachineTemplate("t"), metadata: { name: "t", labels: null, annotations: null } };
    expect(bodyToCreate(body, "renewed", [], NOON).metadata).toEqual({
      name: "t",
      labels: {},
      annotations: { [RENEWED_AT]: "2026-09-01T12:00:00Z" },
      finalizers: [HOLD],
    });
  });

  it("changes nothing of the body in hand", () => {
    const before = structuredClone(full);
    bodyToCreate(full, "renewed", [owner], NOON);
    expect(full).toEqual(before);
  });
});

describe("managedFields", () => {
  it.each([
    ["as we created it", withFields(metal3MachineTemplate("t"), OURS), true],
    ["with those of its owner", withFields(metal3MachineTemplate("t"), HELM), false],
    [
      "where we own metadata only",
      withFields(metal3MachineTemplate("t"), { ...OURS, fieldsV1: { "f:metadata": {} } }),
      false,
    ],
    ["where an entry has no fields", withFields(metal3MachineTemplate("t"), { manager: "capi-caretaker" }), false],
    ["without any", metal3MachineTemplate("t"), false],
  ])("%s -> still lacking: $2", (_, one, expected) => {
    expect(lacksManagedFields(one)).toBe(expected);
  });

  it("are given back whole", async () => {
    const { context, live } = bench([withFields(metal3MachineTemplate("t"), OURS)]);
    await giveBackManagedFields(
      context,
      await live(metal3MachineTemplate("t")),
      withFields(metal3MachineTemplate("t"), HELM),
    );
    expect((await live(metal3MachineTemplate("t"))).metadata.managedFields).toEqual([HELM]);
  });

  it("of a body that has none -> no write", async () => {
    const { context, live, changes } = bench([metal3MachineTemplate("t")]);
    await giveBackManagedFields(context, await live(metal3MachineTemplate("t")), metal3MachineTemplate("t"));
    expect(changes).toEqual([]);
  });
});

describe("recreate", () => {
  const copyOf = (body: KubeObject) => ({ concern: "test", as: "retired", body }) as const;
  const gone = withFields(terminating(metal3MachineTemplate("t"), noon(-1)), HELM);

  it("creates it with hold and marks, gives managedFields back, leaves no copy", async () => {
    const { context, live, cluster } = bench([namespace()]);
    const created = await recreate(context, copyOf(gone));
    expect(created?.metadata.uid).not.toBe(gone.metadata.uid);
    expect((await live(gone)).metadata).toMatchObject({ finalizers: [HOLD], managedFields: [HELM] });
    expect(cluster.all().filter(({ kind }) => kind === "ConfigMap")).toEqual([]);
  });

  it("in this order: copy, object, managedFields, copy removed", async () => {
    const { context, changes } = bench([namespace()]);
    await recreate(context, copyOf(gone));
    expect(changes.map(({ type, object }) => `${type} ${object.kind}`)).toEqual([
      "add ConfigMap",
      "add Metal3MachineTemplate",
      "update Metal3MachineTemplate",
      "delete ConfigMap",
    ]);
  });

  it("something stands under its name -> undefined, it stays as it is, no copy is left", async () => {
    const standing = withUid(metal3MachineTemplate("t"), "someone-else");
    const { context, live, cluster } = bench([standing]);
    expect(await recreate(context, copyOf(gone))).toBeUndefined();
    expect((await live(gone)).metadata).toMatchObject({ uid: "someone-else" });
    expect(cluster.all().filter(({ kind }) => kind === "ConfigMap")).toEqual([]);
  });

  it.each([
    ["lives, by uid", ownedBy(gone, mgmt), [mgmt], ["mgmt"]],
    ["lives under another uid", ownedBy(gone, mgmt), [withUid(mgmt, "other")], undefined],
    ["is gone", ownedBy(gone, mgmt), [], undefined],
    ["lives in another namespace only", ownedBy(gone, mgmt), [inNamespace(mgmt, "edge")], undefined],
    ["is Terminating but there", ownedBy(gone, mgmt), [terminating(held(mgmt))], ["mgmt"]],
    ["of two lives", ownedBy(ownedBy(gone, mgmt), kubeadmControlPlane("cp")), [mgmt], ["mgmt"]],
    ["was never known by uid", ownedBy(gone, withoutUid(mgmt)), [mgmt], undefined],
  ])("an owner that %s", async (_, body, others, expected) => {
    const { context, live } = bench([namespace(), ...others]);
    await recreate(context, copyOf(body));
    expect((await live(gone)).metadata.ownerReferences?.map(({ name }) => name)).toEqual(expected);
  });

  it("an owner reference that comes along is the one it had", async () => {
    const { context, live } = bench([mgmt]);
    const body = ownedBy(gone, mgmt, true);
    await recreate(context, copyOf(body));
    expect((await live(gone)).metadata.ownerReferences).toEqual(body.metadata.ownerReferences);
  });

  it("its namespace is gone -> an error, and the copy stays for a later try", async () => {
    const { context, cluster } = bench([]);
    await expect(recreate(context, copyOf(gone))).rejects.toMatchObject({ failure: "not-found" });
    expect(cluster.all().filter(({ kind }) => kind === "ConfigMap")).toHaveLength(1);
  });

  it("equal names in another namespace or of another kind are not touched", async () => {
    const others = [inNamespace(metal3MachineTemplate("t"), "edge"), metal3Machine("t")];
    const { context, changes } = bench(others);
    await recreate(context, copyOf(gone));
    expect(changes.every(({ object }) => others.every((other) => other.metadata.uid !== object.metadata.uid))).toBe(
      true,
    );
    expect(keyOf(gone).namespace).toBe(HOME);
  });
});

function withoutUid(one: KubeObject): KubeObject {
  const { uid: _, ...metadata } = one.metadata;
  return { ...one, metadata };
}
