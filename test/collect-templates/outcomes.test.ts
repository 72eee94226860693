import { describe, expect, test } from "vitest";
import { handle as collect } from "../../functions/collect-templates/index.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import { annotation, HOLD, hasHold, isRetired, RENEWED_AT, RETAIN, UNNEEDED_SINCE } from "../../shared/marks/marks.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { isTerminating, type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  held,
  kubeadmConfigTemplate,
  machineDeployment,
  machineSet,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  noon,
  object,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";

const mgmt = cluster();
const t = ownedBy(metal3MachineTemplate("t"), mgmt);
const going = held(terminating(t, noon(-30)));
const restored = held(retired(t, noon(-30)));
const machine = metal3Machine("m", { clonedFrom: t });
const deployment = machineDeployment("md", { uses: t });
const fields = [{ manager: "helm", operation: "Apply", fieldsV1: { "f:spec": {} } }];
const withFields = (one: KubeObject): KubeObject => ({ ...one, metadata: { ...one.metadata, managedFields: fields } });

describe("let go", () => {
  test("the last machine is deleted -> the Terminating template goes", async () => {
    const b = bench([mgmt, going]);
    const { acts } = await b.send(collect, "delete", machine);
    expect(await b.has(t)).toBe(false);
    expect(acts).toMatchObject([{ noun: "template", done: "collected", because: "unneeded" }]);
  });

  test("a machine of two is deleted -> the template stays, held", async () => {
    const b = bench([mgmt, going, metal3Machine("m2", { clonedFrom: t })]);
    const { acts } = await b.send(collect, "delete", machine);
    expect(hasHold(await b.live(t))).toBe(true);
    expect(acts).toEqual([]);
  });

  test("a delete event that comes before the machine is gone -> the template stays", async () => {
    const b = bench([mgmt, going, terminating(finalizedBy(machine, "metal3"))]);
    await b.send(collect, "delete", machine);
    expect(await b.has(t)).toBe(true);
  });

  test("an unused template is deleted by a person -> it goes at its own update event", async () => {
    const b = bench([mgmt, held(t)]);
    await b.cluster.delete(await b.live(t));
    await b.send(collect, "update", await b.live(t));
    expect(await b.has(t)).toBe(false);
  });

  test("a chain of retired templates -> the sweeps take it from its head", async () => {
    const data = held(terminating(metal3DataTemplate("d")));
    const b = bench([mgmt, data, held(terminating(metal3MachineTemplate("t", { uses: data })))]);
    await b.sweep(collect);
    await b.sweep(collect);
    expect(b.cluster.all().filter((one) => isTemplateKind(keyOf(one)))).toEqual([]);
  });

  test("only our mark says it is retired -> its grace starts, holds, and ends in its deletion", async () => {
    const b = bench([mgmt, restored]);
    await b.sweep(collect);
    expect(annotation(await b.live(t), UNNEEDED_SINCE)).toBe("2026-09-01T12:00:00Z");
    b.pass({ minutes: 9 });
    await b.sweep(collect);
    expect(await b.has(t)).toBe(true);
    b.pass({ minutes: 1 });
    const { counts } = await b.sweep(collect);
    expect(await b.has(t)).toBe(false);
    expect(counts).toMatchObject({ templates: 1, collect: 1, collected: 1 });
  });

  test("needed again during the grace -> the mark goes, and a later grace starts anew", async () => {
    const b = bench([mgmt, annotated(restored, { [UNNEEDED_SINCE]: noon(-9).toString() }), machine]);
    await b.sweep(collect);
    expect(annotation(await b.live(t), UNNEEDED_SINCE)).toBeUndefined();
  });

  test("its Cluster is gone -> no grace", async () => {
    const b = bench([restored]);
    await b.sweep(collect);
    expect(await b.has(t)).toBe(false);
  });

  test("its Cluster is deleted -> its Cluster's event lets it go", async () => {
    const b = bench([restored]);
    await b.send(collect, "delete", mgmt);
    expect(await b.has(t)).toBe(false);
  });

  test("its Cluster is paused -> nothing is written; unpaused -> its Cluster's event lets it go", async () => {
    const b = bench([cluster("mgmt", { paused: true }), going]);
    await b.sweep(collect);
    expect(b.changes).toEqual([]);
    const paused = await b.live(mgmt);
    await b.cluster.patch(paused, { spec: { paused: null } });
    await b.cluster.patch(await b.live(t), { metadata: { labels: { "capi-caretaker.io/retired": "true" } } });
    await b.send(collect, "update", await b.live(mgmt));
    expect(await b.has(t)).toBe(false);
  });

  test("another finalizer is on it -> only our hold goes", async () => {
    const b = bench([mgmt, finalizedBy(going, "metal3")]);
    const { acts } = await b.sweep(collect);
    expect((await b.live(t)).metadata.finalizers).toEqual(["metal3"]);
    expect(acts).toMatchObject([{ done: "released" }]);
  });

  test("opted out while live -> the hold goes, the template and its marks stay", async () => {
    const b = bench([mgmt, annotated(held(t), { [RETAIN]: "false" }), machine]);
    await b.send(collect, "update", await b.live(t));
    const live = await b.live(t);
    expect(live.metadata.finalizers).toEqual([]);
    expect(isTerminating(live)).toBe(false);
  });

  test("opted out while Terminating and needed -> it goes and does not come back", async () => {
    const b = bench([mgmt, annotated(going, { [RETAIN]: "false" }), machine]);
    await b.sweep(collect);
    expect(await b.has(t)).toBe(false);
  });

  test("a referrer appears between the look and the drop -> the template comes back, held and retired", async () => {
    const b = bench([mgmt, withFields(going)], {}, appearsOnDrop(machineSet("late", { uses: t })));
    await b.sweep(collect);
    const live = await b.live(t);
    expect([hasHold(live), isRetired(live), isTerminating(live)]).toEqual([true, true, false]);
    expect(live.metadata.managedFields).toEqual(fields);
    expect(live.spec).toEqual(t.spec);
  });

  test("what refers to it cannot be read after the drop -> the next sweep brings it back where needed", async () => {
    let isBroken = false;
    const b = bench([mgmt, going], {}, (inner) => ({
      ...inner,
      async patch(one, patch) {
        const result = await inner.patch(one, patch);
        if (result === undefined) {
          isBroken = true;
          await inner.create(machine);
        }
        return result;
      },
      async list(kind, options) {
        if (isBroken && kind.kind === "Metal3Machine") throw new ClusterError("unavailable", "timeout");
        return inner.list(kind, options);
      },
    }));
    await expect(b.sweep(collect)).rejects.toThrow();
    isBroken = false;
    await b.sweep(collect);
    expect(isRetired(await b.live(t))).toBe(true);
    expect(copies(b.cluster.all())).toEqual([]);
  });
});

describe("renew", () => {
  test("wanted and Terminating -> a new object, unretired, held, its fields owned as before", async () => {
    const b = bench([mgmt, withFields(going), deployment]);
    const before = await b.live(t);
    await b.sweep(collect);
    const live = await b.live(t);
    expect(live.metadata.uid).not.toBe(before.metadata.uid);
    expect([isTerminating(live), isRetired(live), hasHold(live)]).toEqual([false, false, true]);
    expect(annotation(live, RENEWED_AT)).toBe("2026-09-01T12:00:00Z");
    expect(live.metadata.managedFields).toEqual(fields);
    expect(live.metadata.ownerReferences?.[0]?.uid).toBe(mgmt.metadata.uid);
    expect(live.spec).toEqual(t.spec);
    expect(copies(b.cluster.all())).toEqual([]);
  });

  test("wanted and not Terminating -> the same object, unretired", async () => {
    const b = bench([mgmt, restored, deployment]);
    await b.send(collect, "update", deployment);
    const live = await b.live(t);
    expect(live.metadata.uid).toBe(t.metadata.uid);
    expect(isRetired(live)).toBe(false);
    expect(live.metadata.labels).toEqual({});
  });

  test("the server would refuse the creation -> nothing is dropped, and people are told", async () => {
    const refuse: (inner: Cluster) => Cluster = (inner) => ({
      ...inner,
      async create(one, options) {
        if (options?.dryRun) throw new ClusterError("invalid", "spec.image: required");
        return inner.create(one, options);
      },
    });
    const b = bench([mgmt, going, deployment], {}, refuse);
    await b.sweep(collect);
    expect(hasHold(await b.live(t))).toBe(true);
    expect(b.cluster.events().map(({ reason }) => reason)).toContain("RenewRefused");
    expect(copies(b.cluster.all())).toEqual([]);
  });

  test("retired again within the hour -> kept, told, not renewed", async () => {
    const contested = annotated(going, { [RENEWED_AT]: noon(-60).toString() });
    const b = bench([mgmt, contested, deployment]);
    await b.send(collect, "update", deployment);
    expect(isTerminating(await b.live(t))).toBe(true);
    expect(b.cluster.events()).toMatchObject([{ reason: "RenewContested", type: "Warning" }]);
  });

  test("somebody creates it in the moment without it -> theirs stays", async () => {
    const theirs: KubeObject = { ...t, metadata: { name: "t", namespace: "sylva" }, spec: { theirs: true } };
    const b = bench([mgmt, going, deployment], {}, (inner) => ({
      ...inner,
      async patch(one, patch) {
        const result = await inner.patch(one, patch);
        if (result === undefined) await inner.create(theirs);
        return result;
      },
    }));
    await b.sweep(collect);
    expect((await b.live(t)).spec).toEqual({ theirs: true });
    expect(copies(b.cluster.all())).toEqual([]);
  });
});

describe("what it costs", () => {
  const reads = (objects: readonly KubeObject[]) => {
    const made: string[] = [];
    const b = bench(objects, {}, (inner) => ({
      ...inner,
      async get(key) {
        made.push(`get ${key.kind}`);
        return inner.get(key);
      },
      async list(kind, options) {
        made.push(`list ${kind.kind}`);
        return inner.list(kind, options);
      },
    }));
    return { b, made };
  };

  test("an ordinary event -> one GET per template it names, no list", async () => {
    const config = kubeadmConfigTemplate("c");
    const { b, made } = reads([mgmt, held(t), held(config)]);
    await b.send(collect, "update", machineDeployment("md", { uses: [t, config] }));
    expect(made.toSorted()).toEqual(["get KubeadmConfigTemplate", "get Metal3MachineTemplate"]);
  });

  test("an event that names no template -> nothing", async () => {
    const { b, made } = reads([mgmt, held(t)]);
    await b.send(collect, "update", object("Machine.cluster.x-k8s.io/v1beta1", "m"));
    expect(made).toEqual([]);
  });

  test("a Cluster that was unpaused long ago -> nothing", async () => {
    const { b, made } = reads([going]);
    const condition = { type: "Paused", status: "False", lastTransitionTime: noon(-60).toString() };
    await b.send(collect, "update", { ...mgmt, status: { v1beta2: { conditions: [condition] } } });
    expect(made).toEqual([]);
  });

  test("a sweep over many retired templates -> as many lists as over one", async () => {
    const many = Array.from({ length: 50 }, (_, index) => held(terminating(metal3MachineTemplate(`t${index}`))));
    const machines = many.map((one, index) => metal3Machine(`m${index}`, { clonedFrom: one }));
    const few = reads([mgmt, ...many.slice(0, 1), ...machines.slice(0, 1)]);
    const lots = reads([mgmt, ...many, ...machines]);
    await few.b.sweep(collect);
    await lots.b.sweep(collect);
    expect(lots.made).toEqual(few.made);
  });
});

describe("what cannot be read", () => {
  test.each([
    ["its clones", "Metal3Machine", "stays"],
    ["MachineSets", "MachineSet", "stays"],
    ["an unrelated provider's machines", "DockerMachine", "goes"],
  ])("a list of %s (%s) fails -> the unneeded template %s", async (_, kind, outcome) => {
    const docker = object("DockerMachine.infrastructure.cluster.x-k8s.io/v1beta1", "x");
    const b = bench([mgmt, going, machineSet("s"), metal3Machine("m"), docker], {}, (inner) => ({
      ...inner,
      async list(asked, options) {
        if (asked.kind === kind) throw new ClusterError("forbidden", "forbidden");
        return inner.list(asked, options);
      },
    }));
    await b.sweep(collect);
    expect(await b.has(t)).toBe(outcome === "stays");
  });

  test("a kind exists but no version of it is served -> everything it may refer to stays", async () => {
    const b = bench([mgmt, going], {}, (inner) => ({
      ...inner,
      async discover() {
        const discovery = await inner.discover();
        return { ...discovery, hidden: [{ group: "cluster.x-k8s.io", plural: "machinesets" }] };
      },
    }));
    const { counts } = await b.sweep(collect);
    expect(await b.has(t)).toBe(true);
    expect(counts).toMatchObject({ "unread-kinds": 1 });
  });

  test("a template of a kind without a role is named -> the event is handled, and the other one named goes on", async () => {
    const rke2 = object("RKE2ConfigTemplate.bootstrap.cluster.x-k8s.io/v1beta1", "r");
    const names = machineDeployment("md", { uses: [rke2, t] });
    const b = bench([mgmt, going], {}, (inner) => ({
      ...inner,
      async get(key) {
        if (key.kind === "RKE2ConfigTemplate") throw new ClusterError("forbidden", "forbidden");
        return inner.get(key);
      },
    }));
    const { acts } = await b.send(collect, "delete", names);
    expect(acts).toMatchObject([{ done: "collected", object: { name: "t" } }]);
  });

  test("a template kind without a role is served and a Cluster goes -> its other retired templates are looked at", async () => {
    const rke2 = object("RKE2ConfigTemplate.bootstrap.cluster.x-k8s.io/v1beta1", "r");
    const b = bench([terminating(restored), rke2], {}, (inner) => ({
      ...inner,
      async list(asked, options) {
        if (asked.kind === "RKE2ConfigTemplate") throw new ClusterError("forbidden", "forbidden");
        return inner.list(asked, options);
      },
    }));
    const { acts } = await b.send(collect, "delete", mgmt);
    expect(acts).toMatchObject([{ done: "collected", object: { name: "t" } }]);
  });

  test("discovery fails -> the event fails, to be sent again", async () => {
    const b = bench([mgmt, going], {}, (inner) => ({
      ...inner,
      discover: async () => Promise.reject(new ClusterError("unavailable", "timeout")),
    }));
    await expect(b.send(collect, "delete", machine)).rejects.toThrow("1 of these failed");
    expect(await b.has(t)).toBe(true);
  });
});

test("Events cannot be recorded -> the act is done all the same", async () => {
  const b = bench([mgmt, going], {}, (inner) => ({
    ...inner,
    record: async () => Promise.reject(new ClusterError("forbidden", "forbidden")),
  }));
  await b.sweep(collect);
  expect(await b.has(t)).toBe(false);
});

test("every write meets a conflict twice -> done in the same event", async () => {
  let left = 2;
  const b = bench([mgmt, going], {}, (inner) => ({
    ...inner,
    async patch(one, patch) {
      left -= 1;
      if (left >= 0) throw new ClusterError("conflict", "changed");
      return inner.patch(one, patch);
    },
  }));
  await b.sweep(collect);
  expect(await b.has(t)).toBe(false);
});

test("our own reply comes back -> nothing", async () => {
  const b = bench([mgmt, going]);
  expect(await collect(b.context, { type: "own-reply" })).toEqual({ acts: [], counts: {} });
  expect(b.changes).toEqual([]);
});

/** A cluster in which `late` is created in the moment the hold is dropped. */
function appearsOnDrop(late: KubeObject): (inner: Cluster) => Cluster {
  return (inner) => ({
    ...inner,
    async patch(one, patch) {
      const isDrop = hasHold(one) && !JSON.stringify(patch).includes(HOLD);
      if (isDrop && (await inner.get(keyOf(late))) === undefined) await inner.create(late);
      return inner.patch(one, patch);
    },
  });
}

function copies(objects: readonly KubeObject[]): readonly KubeObject[] {
  return objects.filter(({ kind }) => kind === "ConfigMap");
}
