import { describe, expect, it } from "vitest";
import type { Context } from "../../../shared/acts/context.ts";
import { type Copy, findCopy, listCopies, removeCopy, saveCopy } from "../../../shared/acts/copies.ts";
import { finishCopy } from "../../../shared/acts/finish-copies.ts";
import { recreate } from "../../../shared/acts/recreate.ts";
import { type Cluster, ClusterError } from "../../../shared/cluster/cluster.ts";
import { gatherFacts } from "../../../shared/look/facts.ts";
import { HOLD, isRetired, RENEWED_AT, RETIRED_AT } from "../../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import { type Bench, bench } from "../../build/bench.ts";
import { dyingAt, ProcessDied } from "../../build/crash.ts";
import { withLists } from "../../build/lists.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  held,
  inNamespace,
  kubeadmConfigTemplate,
  labelled,
  machineDeployment,
  metal3Machine,
  metal3MachineTemplate,
  namespace,
  noon,
  object,
  ownedBy,
  retired,
  terminating,
  withUid,
} from "../../build/objects.ts";

const HELM = { manager: "helm", operation: "Apply", fieldsV1: { "f:spec": { "f:template": {} } } };
const mgmt = cluster();
const bare = terminating(ownedBy(metal3MachineTemplate("t"), mgmt), noon(-30));
const body: KubeObject = { ...bare, metadata: { ...bare.metadata, managedFields: [HELM] } };
const machine = metal3Machine("m", { clonedFrom: body });
const deployment = machineDeployment("md", { uses: body });
const copy = (as: Copy["as"] = "retired"): Copy => ({ concern: "test", as, body });

const finish = (context: Context, of: Copy = copy()) => finishCopy(context, of, () => gatherFacts(context.cluster));
const copiesIn = ({ cluster }: Bench) => cluster.all().filter(({ kind }) => kind === "ConfigMap");

describe("a copy", () => {
  it("is found as it was saved, by the key of its object", async () => {
    const { context } = bench([]);
    await saveCopy(context, copy("renewed"));
    expect(await findCopy(context, keyOf(body))).toEqual(copy("renewed"));
    expect(await findCopy(context, { ...keyOf(body), namespace: "edge" })).toBeUndefined();
    expect(await findCopy(context, { ...keyOf(body), kind: "Other" })).toBeUndefined();
  });

  it("takes the place of an older one of the same object", async () => {
    const world = bench([]);
    await saveCopy(world.context, { ...copy(), concern: "other" });
    await saveCopy(world.context, { ...copy("renewed"), body: withUid(body, "newer") });
    expect(copiesIn(world)).toHaveLength(1);
    expect(await findCopy(world.context, keyOf(body))).toEqual({ ...copy("renewed"), body: withUid(body, "newer") });
  });

  it("is listed by the concern that made it", async () => {
    const { context } = bench([object("ConfigMap.v1", "not-ours", { metadata: { namespace: "capi-caretaker" } })]);
    await saveCopy(context, copy());
    await saveCopy(context, { ...copy(), concern: "other", body: inNamespace(body, "edge") });
    expect((await listCopies(context, "test")).map((one) => one.body.metadata.namespace)).toEqual(["sylva"]);
    expect((await listCopies(context, "other")).map((one) => one.body.metadata.namespace)).toEqual(["edge"]);
  });

  it("stands in our own namespace under a name that fits, whatever the object's", async () => {
    const world = bench([], { POD_NAMESPACE: "mine" });
    const long = { ...body, metadata: { ...body.metadata, name: "x".repeat(253) } };
    await saveCopy(world.context, { ...copy(), body: long });
    const [stored] = copiesIn(world);
    expect(stored?.metadata.namespace).toBe("mine");
    expect(stored?.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$/);
  });

  it("of equal names in two namespaces or of two kinds are different copies", async () => {
    const world = bench([]);
    for (const one of [body, inNamespace(body, "edge"), kubeadmConfigTemplate("t")]) {
      await saveCopy(world.context, { ...copy(), body: one });
    }
    expect(copiesIn(world)).toHaveLength(3);
  });

  it("is removed once, and removing none is no error", async () => {
    const world = bench([]);
    await saveCopy(world.context, copy());
    await removeCopy(world.context, keyOf(body));
    await removeCopy(world.context, keyOf(body));
    expect(copiesIn(world)).toEqual([]);
  });

  it.each(["conflict", "not-found"] as const)(
    "that another process removes at the same moment (%s) -> no error",
    async (failure) => {
      const gone = async () => {
        throw new ClusterError(failure, "x");
      };
      const { context } = bench([], {}, (inner) => ({ ...inner, delete: gone }));
      await saveCopy(context, copy());
      await removeCopy(context, keyOf(body));
    },
  );

  it("that cannot be removed -> an error", async () => {
    const refused = async () => {
      throw new ClusterError("forbidden", "x");
    };
    const { context } = bench([], {}, (inner) => ({ ...inner, delete: refused }));
    await saveCopy(context, copy());
    await expect(removeCopy(context, keyOf(body))).rejects.toMatchObject({ failure: "forbidden" });
  });
});

describe("finishing a copy", () => {
  const paused = annotated(mgmt, { "cluster.x-k8s.io/paused": "" });

  it.each<[string, readonly KubeObject[], "created" | "dropped"]>([
    ["needed by a machine", [mgmt, machine], "created"],
    ["needed by a Terminating machine", [mgmt, terminating(held(machine))], "created"],
    ["wanted by a deployment", [mgmt, deployment], "created"],
    ["of a paused Cluster", [paused, machine], "created"],
    ["needed by nothing", [mgmt], "dropped"],
    ["needed by a namesake's machine in another namespace", [mgmt, inNamespace(machine, "edge")], "dropped"],
    [
      "needed by a clone of another kind's template",
      [mgmt, metal3Machine("m", { clonedFrom: kubeadmConfigTemplate("t") })],
      "dropped",
    ],
    ["whose Cluster is Terminating", [terminating(finalizedBy(mgmt, "x/y")), machine], "dropped"],
    ["whose Cluster is gone", [machine], "dropped"],
    ["whose namespace is Terminating", [mgmt, machine, terminating(finalizedBy(namespace(), "kubernetes"))], "dropped"],
  ])("%s -> %s", async (_, objects, expected) => {
    const world = bench(objects);
    await saveCopy(world.context, copy());
    const back = await finish(world.context);
    expect(back === undefined).toBe(expected === "dropped");
    expect(await world.has(body)).toBe(expected === "created");
    expect(copiesIn(world)).toEqual([]);
  });

  it.each<[string, Copy["as"], readonly KubeObject[], boolean]>([
    ["as renewed, still wanted", "renewed", [mgmt, deployment], false],
    ["as renewed, no longer wanted but needed", "renewed", [mgmt, machine], true],
    ["as retired, whatever wants it", "retired", [mgmt, deployment], true],
  ])("%s -> retired: $3", async (_, as, objects, expected) => {
    const world = bench(objects);
    await finish(world.context, copy(as));
    const live = await world.live(body);
    expect(isRetired(live)).toBe(expected);
    expect(live.metadata.annotations?.[RENEWED_AT]).toBe(expected ? undefined : "2026-09-01T12:00:00Z");
    expect(live.metadata.annotations?.[RETIRED_AT]).toBe(expected ? "2026-09-01T11:30:00Z" : undefined);
    expect(live.metadata.finalizers).toEqual([HOLD]);
  });

  it.each([
    ["the object itself, not yet gone", held(body)],
    ["another uid", withUid(held(metal3MachineTemplate("t")), "someone-else")],
    ["another uid, Terminating", withUid(terminating(held(metal3MachineTemplate("t"))), "someone-else")],
  ])("%s stands there -> it stays as it is, the copy goes", async (_, standing) => {
    const world = bench([mgmt, machine, standing]);
    await saveCopy(world.context, copy());
    const before = await world.live(body);
    expect(await finish(world.context)).toBeUndefined();
    expect(await world.live(body)).toEqual(before);
    expect(copiesIn(world)).toEqual([]);
  });

  it("opted out or off limits -> the copy goes, nothing is created", async () => {
    for (const one of [
      annotated(body, { "capi-caretaker.io/retain": "false" }),
      labelled(body, { "topology.cluster.x-k8s.io/owned": "" }),
    ]) {
      const world = bench([mgmt, machine]);
      await saveCopy(world.context, { ...copy(), body: one });
      await finish(world.context, { ...copy(), body: one });
      expect(await world.has(body)).toBe(false);
      expect(copiesIn(world)).toEqual([]);
    }
  });

  const refusing =
    (kind: string) =>
    (inner: Cluster): Cluster =>
      withLists(inner, async (asked, options) => {
        if (asked.kind === kind) throw new ClusterError("forbidden", `${kind} is forbidden`);
        return inner.list(asked, options);
      });

  // Whether it is needed, or may come back, is unknown: the copy is all there is, so it is kept and tried again.
  it.each<[string, readonly KubeObject[], string]>([
    ["its machines", [mgmt, metal3Machine("other")], "Metal3Machine"],
    ["a core kind", [mgmt, deployment], "MachineDeployment"],
    ["the Clusters, though a machine needs it", [mgmt, machine], "Cluster"],
    ["the namespaces, though a machine needs it", [mgmt, machine], "Namespace"],
  ])("%s cannot be read -> unavailable, the copy stays", async (_, objects, kind) => {
    const world = bench(objects, {}, refusing(kind));
    await saveCopy(world.context, copy());
    await expect(finish(world.context)).rejects.toMatchObject({ failure: "unavailable" });
    expect(copiesIn(world)).toHaveLength(1);
    expect(await world.has(body)).toBe(false);
  });

  it("a kind that cannot refer to it cannot be read -> decided all the same", async () => {
    const foreign = object("FooMachine.infrastructure.cluster.x-k8s.io/v1", "f");
    const world = bench([mgmt, foreign], {}, refusing("FooMachine"));
    await saveCopy(world.context, copy());
    await finish(world.context);
    expect(copiesIn(world)).toEqual([]);
  });
});

describe("a crash at any write", () => {
  const points = [1, 2, 3, 4].flatMap((n) => (["before", "after"] as const).map((when) => ({ n, when })));
  const world = (n: number, when: "before" | "after", objects: readonly KubeObject[] = [mgmt, machine]) => {
    const made = bench(objects);
    const dying: Context = { ...made.context, cluster: dyingAt(n, when)(made.context.cluster) };
    return { ...made, dying };
  };

  async function finishAll(context: Context): Promise<void> {
    for (const one of await listCopies(context, "test")) await finish(context, one);
  }

  /** Exactly one template, ours, whole, and nothing left behind. */
  async function expectWhole(made: Bench, as: Copy["as"] = "retired"): Promise<void> {
    const live = await made.live(body);
    expect(live.spec).toEqual(body.spec);
    expect(live.metadata.uid).not.toBe(body.metadata.uid);
    expect(live.metadata).toMatchObject({
      finalizers: [HOLD],
      managedFields: [HELM],
      ownerReferences: body.metadata.ownerReferences,
    });
    expect(isRetired(live)).toBe(as === "retired");
    expect(copiesIn(made)).toEqual([]);
    expect(made.changes.filter(({ type, object }) => type === "add" && object.kind === body.kind)).toHaveLength(1);
  }

  it("recreate makes four writes", async () => {
    const { dying } = world(5, "before");
    await recreate(dying, copy());
  });

  describe.each(points)("just $when write $n of recreate", ({ n, when }) => {
    it("the next sweep finishes the job, unless not even the copy was made: then the event comes again", async () => {
      const made = world(n, when);
      await expect(recreate(made.dying, copy())).rejects.toThrow(ProcessDied);
      await finishAll(made.context);
      if (n === 1 && when === "before") await recreate(made.context, copy());
      await expectWhole(made);
    });

    it("the event that comes again does too, and a sweep after it finds nothing to do", async () => {
      const made = world(n, when);
      await expect(recreate(made.dying, copy())).rejects.toThrow(ProcessDied);
      const findings = await findCopy(made.context, keyOf(body));
      if (findings !== undefined) await finish(made.context, findings);
      else if (!(await made.has(body))) await recreate(made.context, copy());
      await expectWhole(made);
      const writes = made.changes.length;
      await finishAll(made.context);
      expect(made.changes).toHaveLength(writes);
    });

    it("two sweeps at the same time do it once", async () => {
      const made = world(n, when);
      await expect(recreate(made.dying, copy())).rejects.toThrow(ProcessDied);
      await Promise.allSettled([finishAll(made.context), finishAll(made.context)]);
      await finishAll(made.context);
      if (n === 1 && when === "before") await recreate(made.context, copy());
      await expectWhole(made);
    });

    it("what stands under its name in the meantime is not touched", async () => {
      const made = world(n, when);
      await expect(recreate(made.dying, copy())).rejects.toThrow(ProcessDied);
      if (await made.has(body)) return;
      const theirs = await made.cluster.create(metal3MachineTemplate("t"));
      const fields = [{ manager: "helm", operation: "Apply" }];
      const owned = await made.cluster.patch(theirs, { metadata: { managedFields: fields } });
      await finishAll(made.context);
      expect(await made.live(body)).toEqual(owned);
      expect(copiesIn(made)).toEqual([]);
    });

    it("renewed stays renewed while it is wanted", async () => {
      const made = world(n, when, [mgmt, deployment]);
      await expect(recreate(made.dying, copy("renewed"))).rejects.toThrow(ProcessDied);
      await finishAll(made.context);
      if (n === 1 && when === "before") await recreate(made.context, copy("renewed"));
      await expectWhole(made, "renewed");
    });
  });

  const within = [1, 2, 3].flatMap((n) => (["before", "after"] as const).map((when) => ({ n, when })));
  it.each(within)("just $when write $n of finishing -> the next one finishes", async ({ n, when }) => {
    const made = world(n, when);
    await saveCopy(made.context, copy());
    await expect(finish(made.dying)).rejects.toThrow(ProcessDied);
    await finishAll(made.context);
    await expectWhole(made);
  });

  it("nothing needs it any more when the sweep comes -> no copy and no template is left", async () => {
    const made = world(1, "after");
    await expect(recreate(made.dying, copy())).rejects.toThrow(ProcessDied);
    await made.cluster.delete(await made.live(machine));
    await finishAll(made.context);
    expect(await made.has(body)).toBe(false);
    expect(copiesIn(made)).toEqual([]);
  });

  it("a retired namesake that came back by another way stays retired", async () => {
    const made = world(1, "after");
    await expect(recreate(made.dying, copy("renewed"))).rejects.toThrow(ProcessDied);
    await made.cluster.create(retired(held(metal3MachineTemplate("t"))));
    await finishAll(made.context);
    expect(isRetired(await made.live(body))).toBe(true);
  });
});
