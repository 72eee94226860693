import { describe, expect, test } from "vitest";
import { handle } from "../../functions/label-machines/index.ts";
import {
  ADOPT,
  ADOPTION_REFUSED,
  ALLOW_ROLLOUT,
  CONTROL_PLANE_LABEL,
  LABELLING,
} from "../../functions/label-machines/marks.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import { annotation, label, PAUSED } from "../../shared/marks/marks.ts";
import { CONTROL_PLANE } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import { annotated, labelled, machineSet, object, ownedBy } from "../build/objects.ts";
import {
  bareKcp,
  changed,
  cluster,
  config,
  kcp,
  machine,
  NAMES,
  replaced,
  secrets,
  seen,
  withExistence,
  without,
  worker,
  world,
} from "./build.ts";

const all = world();
const CONTROL_PLANE_NAME = "cluster.x-k8s.io/control-plane-name";
const members = NAMES.flatMap((name) => [machine(name), config(name)]);
const unpaused = changed(kcp, { metadata: { annotations: { [PAUSED]: null } } });
const otherConfig = changed(config("cp-2"), { spec: { preKubeadmCommands: ["true"] } });

function start(objects: readonly KubeObject[], wrap: (inner: Cluster) => Cluster = (inner) => inner): Bench {
  return bench(objects, {}, (inner) => wrap(withExistence(inner)));
}

/** Fails one write, the n-th of all, before or after it took effect. */
function failing(at: number, moment: "before" | "after", failure: "unavailable" | "conflict" = "unavailable") {
  let writes = 0;
  return (inner: Cluster): Cluster =>
    Object.assign({}, inner, {
      patch: async (...args: Parameters<Cluster["patch"]>) => {
        writes += 1;
        const isNow = writes === at;
        if (isNow && moment === "before") throw new ClusterError(failure, "write lost");
        const result = await inner.patch(...args);
        if (isNow) throw new ClusterError(failure, "answer lost");
        return result;
      },
    });
}

async function labelsOf(on: Bench): Promise<readonly boolean[]> {
  const live = await Promise.all(members.map((one) => on.live(one)));
  return live.map((one) => label(one, CONTROL_PLANE_LABEL) !== undefined);
}

/** What the control plane does once it may: it takes every labelled machine. */
async function adopt(on: Bench, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const live = await on.live(machine(name));
    await on.cluster.patch(live, { metadata: ownedBy(live, kcp, true).metadata });
  }
}

const reasonsTold = (on: Bench) => on.cluster.events().map(({ reason }) => reason);
const markOf = async (on: Bench, name: string) => annotation(await on.live(kcp), name);

describe("a plain adoption", () => {
  test.each<readonly [situation: string, changedObject: KubeObject | "sweep"]>([
    ["the control plane is marked", kcp],
    ["its Cluster changes", cluster],
    ["a machine changes", machine("cp-1")],
    ["a config changes", config("cp-3")],
    [
      "a config without labels changes",
      ownedBy(changed(config("cp-3"), { metadata: { labels: null } }), machine("cp-3")),
    ],
    ["a sweep", "sweep"],
  ])("%s -> all labelled, pause removed, waiting", async (_, changedObject) => {
    const on = start(all);
    if (changedObject === "sweep") await on.sweep(handle);
    else await on.send(handle, "update", changedObject);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
    expect(await markOf(on, PAUSED)).toBeUndefined();
    expect(await markOf(on, ADOPT)).toBe("true");
    expect(reasonsTold(on)).toEqual(["MachinesLabelled"]);
  });

  test("the order of writes -> note, every Machine, every config, the pause last", async () => {
    const on = start(all);
    await on.send(handle, "update", kcp);
    const kinds = on.changes.map(({ object: one }) => one.kind);
    expect(kinds).toEqual([
      "KubeadmControlPlane",
      ...NAMES.map(() => "Machine"),
      ...NAMES.map(() => "KubeadmConfig"),
      "KubeadmControlPlane",
    ]);
  });

  test("labelled -> never control-plane-name, the worker untouched, no secret read", async () => {
    const on = start(all);
    const before = await on.live(worker);
    await on.send(handle, "update", kcp);
    for (const one of on.cluster.all()) expect(label(one, CONTROL_PLANE_NAME)).toBeUndefined();
    expect(await on.live(worker)).toEqual(before);
  });

  test("labelled -> the acts name every machine and config, then the control plane", async () => {
    const { acts } = await start(all).send(handle, "update", kcp);
    expect(acts.map(({ noun, done }) => `${noun} ${done}`)).toEqual([
      ...NAMES.map(() => "machine labelled"),
      ...NAMES.map(() => "config labelled"),
      "control-plane unpaused",
    ]);
  });

  test("two machines adopted -> still waiting, the marks stay", async () => {
    const on = start(all);
    await on.send(handle, "update", kcp);
    await adopt(on, "cp-1", "cp-2");
    await on.send(handle, "update", await on.live(machine("cp-2")));
    expect(await markOf(on, ADOPT)).toBe("true");
    expect(reasonsTold(on)).not.toContain("Adopted");
  });

  test("all machines adopted -> Adopted, no mark left", async () => {
    const on = start(all);
    await on.send(handle, "update", kcp);
    await adopt(on, ...NAMES);
    const { acts } = await on.send(handle, "update", await on.live(machine("cp-3")));
    expect(acts).toMatchObject([{ noun: "control-plane", done: "adopted" }]);
    expect((await on.live(kcp)).metadata.annotations ?? {}).toEqual({});
    expect(reasonsTold(on)).toContain("Adopted");
  });

  test.each([
    ["once", "all labelled", 1],
    ["each time", "the event fails, to be sent again", Number.POSITIVE_INFINITY],
  ] as const)("the list of machines expires between two pages %s -> begun anew: %s", async (_, outcome, times) => {
    let left: number = times;
    const on = start(all, (inner) => ({
      ...inner,
      async *pages(kind, options) {
        yield* inner.pages(kind, options);
        if (kind.kind !== "Machine" || left === 0) return;
        left -= 1;
        throw new ClusterError("expired", "too old");
      },
    }));
    const sent = await on.send(handle, "update", kcp).then(
      () => "all labelled",
      () => "the event fails, to be sent again",
    );
    const isLabelled = await labelsOf(on);
    expect([sent, isLabelled.every((one) => one)]).toEqual([outcome, outcome === "all labelled"]);
  });

  test("a second event -> nothing is written", async () => {
    const on = start(all);
    await on.send(handle, "update", kcp);
    const written = on.changes.length;
    await on.send(handle, "update", await on.live(kcp));
    expect(on.changes).toHaveLength(written);
  });

  test("paused through its Cluster -> all labelled, the Cluster's pause stays", async () => {
    const paused = changed(cluster, { spec: { paused: true } });
    const on = start(replaced(all, paused, unpaused));
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
    expect(await on.live(cluster)).toMatchObject({ spec: { paused: true } });
    expect(on.cluster.events()).toMatchObject([{ reason: "AdoptionPending", type: "Normal" }]);
  });

  test("paused both ways -> only the control plane's pause is removed", async () => {
    const paused = annotated(cluster, { [PAUSED]: "" });
    const on = start(replaced(all, paused));
    await on.sweep(handle);
    expect(annotation(await on.live(cluster), PAUSED)).toBe("");
    expect(await markOf(on, PAUSED)).toBeUndefined();
  });

  test("a dry run -> nothing is written", async () => {
    const on = bench(all, { DRY_RUN: "true" }, (inner) =>
      Object.assign({}, withExistence(inner), { patch: async (one: KubeObject) => one }),
    );
    await on.send(handle, "update", kcp);
    expect(on.changes).toEqual([]);
  });
});

/** A cluster on which no component grants RKE2's control planes. */
function withoutRke2(inner: Cluster): Cluster {
  const get: Cluster["get"] = async (key) => {
    if (key.kind === "RKE2ControlPlane") throw new ClusterError("forbidden", "rke2controlplanes is forbidden");
    return inner.get(key);
  };
  return { ...inner, get };
}

describe("nothing to do", () => {
  test("a Cluster whose control plane no role lets be read -> handled, nothing is written", async () => {
    const controlPlaneRef = { apiGroup: CONTROL_PLANE, kind: "RKE2ControlPlane", name: "mgmt" };
    const ofRke2 = changed(cluster, { spec: { controlPlaneRef } });
    const on = start(replaced(all, ofRke2), withoutRke2);
    expect(await on.send(handle, "update", ofRke2)).toEqual({ acts: [], counts: {} });
    expect(on.changes).toEqual([]);
  });

  test.each<readonly [situation: string, objects: readonly KubeObject[], about: KubeObject]>([
    ["no opt-in", replaced(all, ownedBy(bareKcp, cluster)), ownedBy(bareKcp, cluster)],
    ["no opt-in, a machine changes", replaced(all, ownedBy(bareKcp, cluster)), machine("cp-1")],
    ["a worker of a set changes", all, ownedBy(worker, machineSet("s"), true)],
    ["another kind changes", all, object("ConfigMap.v1", "x")],
  ])("%s -> nothing is written", async (_, objects, about) => {
    const on = start(objects);
    expect(await on.send(handle, "update", about)).toEqual({ acts: [], counts: {} });
    expect(on.changes).toEqual([]);
  });

  test("a worker of a set changes -> nothing is read", async () => {
    const on = start(all, (inner) =>
      Object.assign({}, inner, { get: unexpected, list: unexpected, pages: unexpected }),
    );
    await on.send(handle, "update", ownedBy(worker, machineSet("s"), true));
    expect(on.changes).toEqual([]);
  });
});

function unexpected(): never {
  throw new Error("read");
}

describe("refusals", () => {
  test.each<readonly [situation: string, because: string, objects: readonly KubeObject[]]>([
    ["not paused", "kcp-not-paused", replaced(all, unpaused)],
    ["a CA missing", "secret-missing", without(all, secrets[0] ?? kcp)],
    ["a foreign controller", "mixed-management", replaced(all, ownedBy(machine("cp-2"), machineSet("s"), true))],
    ["a replica more", "replicas-mismatch", replaced(all, changed(kcp, { spec: { replicas: 5 } }))],
    [
      "a version too old",
      "version-skew-too-large",
      replaced(all, changed(machine("cp-1"), { spec: { version: "v1.30.0" } })),
    ],
    ["a differing config", "would-roll-out", replaced(all, otherConfig)],
  ])("%s -> said on the control plane, machines untouched", async (_, because, objects) => {
    const on = start(objects);
    const before = await Promise.all(members.map((one) => on.live(one)));
    await on.send(handle, "update", kcp);
    expect(await markOf(on, ADOPTION_REFUSED)).toBe(because);
    expect(on.cluster.events()).toMatchObject([{ type: "Warning", reason: "AdoptionRefused" }]);
    expect(on.cluster.events()[0]?.note).toContain(because);
    expect(await Promise.all(members.map((one) => on.live(one)))).toEqual(before);
  });

  test("many reasons -> Events hold all of them, none longer than the API takes", async () => {
    const many = changed(kcp, { spec: { replicas: 5 }, metadata: { ownerReferences: null } });
    const on = start(without(replaced(all, many, otherConfig), ...secrets));
    await on.send(handle, "update", kcp);
    const notes = on.cluster.events().map(({ note }) => note);
    for (const reason of ["not-owned-by-cluster", "replicas-mismatch", "mgmt-ca", "mgmt-proxy", "would-roll-out"]) {
      expect(notes.join(" ")).toContain(reason);
    }
    expect(Math.max(...notes.map(({ length }) => length))).toBeLessThanOrEqual(1024);
  });

  test("a differing file -> the Event names the field and never its content", async () => {
    const secretFile = changed(config("cp-2"), { spec: { files: [{ path: "/etc/x", content: "hunter2" }] } });
    const on = start(replaced(all, secretFile));
    await on.send(handle, "update", kcp);
    expect(on.cluster.events()[0]?.note).toContain("cp-2 spec.files");
    expect(JSON.stringify(on.cluster.events().map(({ note }) => note))).not.toContain("hunter2");
  });

  test("the same refusal again -> nothing more is written or told", async () => {
    const on = start(replaced(all, otherConfig));
    await on.send(handle, "update", kcp);
    const written = on.changes.length;
    await on.sweep(handle);
    expect(on.changes).toHaveLength(written);
    expect(on.cluster.events()).toHaveLength(1);
  });

  test("the cause mended -> the annotation goes, the Events too, and the adoption begins", async () => {
    const told = object("Event.events.k8s.io/v1", "refused", {
      reason: "AdoptionRefused",
      regarding: { kind: "KubeadmControlPlane", name: "mgmt" },
    });
    const on = start([...replaced(all, otherConfig), told]);
    await on.send(handle, "update", kcp);
    await on.cluster.patch(await on.live(otherConfig), { spec: config("cp-2").spec });
    await on.send(handle, "update", await on.live(otherConfig));
    expect(await markOf(on, ADOPTION_REFUSED)).toBeUndefined();
    expect(await on.has(told)).toBe(false);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
  });

  test("a rollout allowed -> labelled all the same", async () => {
    const on = start(replaced(all, otherConfig, annotated(kcp, { [ALLOW_ROLLOUT]: "true" })));
    await on.send(handle, "update", kcp);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
  });

  test("an even number -> labelled, and the warning told", async () => {
    const on = start(without(replaced(all, changed(kcp, { spec: { replicas: 2 } })), machine("cp-3")));
    await on.send(handle, "update", kcp);
    expect(reasonsTold(on)).toEqual(["AdoptionWarning", "MachinesLabelled"]);
  });

  test("an RKE2 control plane -> refused on it, nothing else is written", async () => {
    const rke2 = object(`RKE2ControlPlane.${CONTROL_PLANE}/v1beta1`, "rke", {
      metadata: { annotations: { [ADOPT]: "true" } },
    });
    const on = start([...all.filter((one) => one !== kcp), rke2]);
    await on.sweep(handle);
    expect(annotation(await on.live(rke2), ADOPTION_REFUSED)).toBe("provider-does-not-adopt");
    expect(new Set(on.changes.map(({ object: one }) => one.kind))).toEqual(new Set(["RKE2ControlPlane"]));
  });
});

describe("half-way", () => {
  const writes = 1 + members.length + 1;
  const each = Array.from({ length: writes }, (_, at) => at + 1).flatMap((at) => [
    [at, "before"] as const,
    [at, "after"] as const,
  ]);

  test.each(each)("write %i fails (%s it took effect) -> the next event finishes", async (at, moment) => {
    const on = start(all, failing(at, moment));
    await expect(on.send(handle, "update", kcp)).rejects.toThrow(/lost/);
    await on.send(handle, "update", await on.live(kcp));
    expect(await labelsOf(on)).toEqual(members.map(() => true));
    expect(await markOf(on, PAUSED)).toBeUndefined();
  });

  test.each(each)("write %i conflicts (%s it took effect) -> finished in process", async (at, moment) => {
    const on = start(all, failing(at, moment, "conflict"));
    await on.send(handle, "update", kcp);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
    expect(await markOf(on, PAUSED)).toBeUndefined();
  });

  const brokenAfter = async (at: number) => {
    const on = start(all, failing(at, "after"));
    await expect(on.send(handle, "update", kcp)).rejects.toThrow("lost");
    return on;
  };

  test("a check fails after two labels, still paused -> ours are taken off again, the pause stays", async () => {
    const on = await brokenAfter(3);
    expect(await labelsOf(on)).toContain(true);
    await on.cluster.delete(await on.live(secrets[0] ?? kcp));
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => false));
    expect(await markOf(on, PAUSED)).toBe("true");
    expect(await markOf(on, LABELLING)).toBeUndefined();
    expect(await markOf(on, ADOPTION_REFUSED)).toBe("secret-missing");
  });

  test("a check fails once all are labelled, still paused -> taken off again, the pause stays", async () => {
    const on = await brokenAfter(writes - 1);
    await on.cluster.delete(await on.live(secrets[0] ?? kcp));
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => false));
    expect(await markOf(on, PAUSED)).toBe("true");
  });

  test("a check fails half-way, one machine labelled by a person -> that label stays", async () => {
    const on = start(replaced(all, seen(machine("cp-1"))), failing(4, "after"));
    await expect(on.send(handle, "update", kcp)).rejects.toThrow("lost");
    await on.cluster.delete(await on.live(secrets[0] ?? kcp));
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(
      members.map((one) => keyOf(one).kind === "Machine" && one.metadata.name === "cp-1"),
    );
  });

  test("someone unpauses while labels are taken off -> no more are, and the next event finishes", async () => {
    let unpause: (() => Promise<void>) | undefined;
    const on = start(all, (inner) => {
      const broken = failing(4, "after")(inner);
      return Object.assign({}, broken, {
        patch: async (...args: Parameters<Cluster["patch"]>) => {
          const result = await broken.patch(...args);
          if (JSON.stringify(args[1]).includes(`"${CONTROL_PLANE_LABEL}":null`)) await unpause?.();
          return result;
        },
      });
    });
    unpause = async () => {
      await on.cluster.patch(await on.live(kcp), { metadata: { annotations: { [PAUSED]: null } } });
    };
    await expect(on.send(handle, "update", kcp)).rejects.toThrow("lost");
    await on.cluster.delete(await on.live(secrets[0] ?? kcp));
    await on.sweep(handle);
    expect((await labelsOf(on)).filter(Boolean)).toHaveLength(2);
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
  });

  test("someone unpauses half-way -> finished, not unlabelled", async () => {
    const on = await brokenAfter(3);
    await on.cluster.patch(await on.live(kcp), { metadata: { annotations: { [PAUSED]: null } } });
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
  });

  test("someone unpauses half-way and a check fails -> finished all the same", async () => {
    const on = await brokenAfter(3);
    await on.cluster.patch(await on.live(kcp), { metadata: { annotations: { [PAUSED]: null } } });
    await on.cluster.delete(await on.live(secrets[0] ?? kcp));
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
  });

  test("adopted in part and paused again, a check fails -> nothing is taken off", async () => {
    const on = start(all);
    await on.send(handle, "update", kcp);
    await adopt(on, "cp-1");
    await on.cluster.patch(await on.live(kcp), { metadata: { annotations: { [PAUSED]: "true" } } });
    await on.cluster.delete(await on.live(secrets[0] ?? kcp));
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
    expect(await markOf(on, PAUSED)).toBe("true");
  });

  test("a person labelled everything, paused, a CA missing -> refused, labels and pause stay", async () => {
    const on = start(without(replaced(all, ...members.map(seen)), secrets[0] ?? kcp));
    await on.sweep(handle);
    expect(await labelsOf(on)).toEqual(members.map(() => true));
    expect(await markOf(on, PAUSED)).toBe("true");
    expect(await markOf(on, ADOPTION_REFUSED)).toBe("secret-missing");
  });
});

describe("an adoption that does not come", () => {
  const waiting = replaced(all, ...members.map(seen), {
    ...unpaused,
    status: { conditions: [{ type: "Available", status: "False", message: "etcd is down" }] },
  });
  const failed = object("Event.events.k8s.io/v1", "failed", {
    reason: "AdoptionFailed",
    note: "outside supported +/- one minor version skew",
    regarding: { kind: "KubeadmControlPlane", name: "mgmt" },
  });

  test("a sweep -> the conditions are said", async () => {
    const on = start(waiting);
    await on.sweep(handle);
    expect(on.cluster.events()).toMatchObject([{ reason: "AdoptionPending", type: "Warning" }]);
    expect(on.cluster.events()[0]?.note).toContain("etcd is down");
  });

  test("an ordinary event -> nothing is said yet", async () => {
    const on = start(waiting);
    await on.send(handle, "update", unpaused);
    expect(on.cluster.events()).toEqual([]);
  });

  test("the control plane recorded a failure -> said at once", async () => {
    const on = start([...waiting, failed]);
    await on.send(handle, "update", unpaused);
    expect(on.cluster.events()[0]?.note).toContain("outside supported");
  });

  test("Events may not be read -> the sweep still says the rest", async () => {
    const on = start(waiting, (inner) =>
      Object.assign({}, inner, {
        list: async (...args: Parameters<Cluster["list"]>) => {
          if (args[0].kind === "Event") throw new ClusterError("forbidden", "events is forbidden");
          return inner.list(...args);
        },
      }),
    );
    await on.sweep(handle);
    expect(on.cluster.events()[0]?.note).toContain("etcd is down");
  });

  test("a machine without its cluster label -> labelled with it", async () => {
    const on = start(replaced(all, changed(machine("cp-1"), { metadata: { labels: null } })));
    await on.send(handle, "update", kcp);
    expect(label(await on.live(machine("cp-1")), "cluster.x-k8s.io/cluster-name")).toBe("mgmt");
  });

  test("a label of another value -> kept as it is", async () => {
    const on = start(replaced(all, labelled(machine("cp-1"), { [CONTROL_PLANE_LABEL]: "true" })));
    await on.send(handle, "update", kcp);
    expect(label(await on.live(machine("cp-1")), CONTROL_PLANE_LABEL)).toBe("true");
  });
});
