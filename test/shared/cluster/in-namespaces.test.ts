import { describe, expect, test } from "vitest";
import { plan } from "../../../cli/plan/run.ts";
import { release } from "../../../cli/release/run.ts";
import { handle as collect } from "../../../functions/collect-templates/index.ts";
import { handle as retain } from "../../../functions/retain-templates/index.ts";
import { type Cluster, ClusterError } from "../../../shared/cluster/cluster.ts";
import { inNamespaces, isLookedAt } from "../../../shared/cluster/in-namespaces.ts";
import { snapshotCluster } from "../../../shared/cluster/snapshot/cluster.ts";
import { hasHold } from "../../../shared/marks/marks.ts";
import { INFRASTRUCTURE, NAMESPACE } from "../../../shared/objects/kinds.ts";
import { groupKindText, type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import { createApp } from "../../../shared/serving/serve.ts";
import { ask } from "../../build/ask.ts";
import { type Bench, bench } from "../../build/bench.ts";
import { resourceEvent } from "../../build/events.ts";
import { withLists } from "../../build/lists.ts";
import {
  cluster,
  held,
  inNamespace,
  labelled,
  metal3Machine,
  metal3MachineTemplate,
  namespace,
  object,
  retired,
  terminating,
} from "../../build/objects.ts";
import { folderOf } from "../../cli/run.ts";

const t = metal3MachineTemplate("t");
const m = metal3Machine("m", { clonedFrom: t });
const inA = (one: KubeObject) => inNamespace(one, "team-a");
const inB = (one: KubeObject) => inNamespace(one, "team-b");
const inC = (one: KubeObject) => inNamespace(one, "team-c");

/** What an API server answers an account whose rights are RoleBindings in these namespaces; every refusal is noted. */
function boundTo(cluster: Cluster, homes: readonly string[], refusals: string[]): Cluster {
  const allow = (what: string, home: string | undefined) => {
    if (home !== undefined && (home === "" || homes.includes(home))) return;
    refusals.push(what);
    throw new ClusterError("forbidden", `${what} is forbidden`);
  };
  return {
    ...cluster,
    async get(key) {
      allow(`get ${key.namespace}/${key.name}`, key.namespace);
      return cluster.get(key);
    },
    async list(kind, options) {
      const isWide = kind.kind === NAMESPACE.kind;
      allow(`list ${kind.kind} of ${options?.namespace ?? "all"}`, isWide ? "" : options?.namespace);
      return cluster.list(kind, options);
    },
    async patch(object, patch) {
      allow(`patch ${object.metadata.namespace}/${object.metadata.name}`, object.metadata.namespace);
      return cluster.patch(object, patch);
    },
  };
}

/** A bench as a tenant has it: rights in some namespaces, and NAMESPACES says which. */
function tenant(
  objects: readonly KubeObject[],
  homes = ["team-a"],
  own = homes[0] ?? "",
): Bench & { refusals: string[] } {
  const refusals: string[] = [];
  const environment = { NAMESPACES: homes.join(","), POD_NAMESPACE: own };
  const scope = { namespaces: homes, ownNamespace: own };
  const b = bench(objects, environment, (inner) => inNamespaces(boundTo(inner, [...homes, own], refusals), scope));
  return Object.assign(b, { refusals });
}

describe("what is seen", () => {
  const all = [inA(t), inB(t), inC(t), namespace("team-a"), namespace("team-b"), inC(object("ConfigMap.v1", "copy"))];
  const named = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.namespace ?? metadata.name);
  const seenBy = (...namespaces: readonly string[]) =>
    inNamespaces(snapshotCluster(all), { namespaces, ownNamespace: "team-c" });

  test.each<readonly [situation: string, namespaces: readonly string[], expected: readonly string[]]>([
    ["no namespace named", [], ["team-a", "team-b", "team-c"]],
    ["one named", ["team-b"], ["team-b"]],
    ["two named, in the order in which they are", ["team-b", "team-a"], ["team-b", "team-a"]],
    ["one named twice", ["team-a", "team-a"], ["team-a"]],
    ["one that does not exist", ["team-x"], []],
  ])("a list of all, %s -> %j", async (_, namespaces, expected) => {
    expect(named(await seenBy(...namespaces).list(keyOf(t)))).toEqual(expected);
  });

  test("a kind without namespaces -> listed once, whole", async () => {
    expect(named(await seenBy("team-a", "team-b").list(NAMESPACE)).toSorted()).toEqual(["team-a", "team-b", "team-c"]);
  });

  test("a list of our own namespace, though it is not named -> as asked", async () => {
    const copies = await seenBy("team-a").list({ group: "", kind: "ConfigMap" }, { namespace: "team-c" });
    expect(named(copies)).toEqual(["team-c"]);
  });

  test("a list that fails in one namespace -> fails, and what it may have shown is kept in all of them", async () => {
    const spent = held(terminating(retired(t)));
    const homes = ["team-a", "team-b"];
    const b = bench([inA(spent), inB(spent)], {}, (inner) => {
      const list: Cluster["list"] = async (kind, options) => {
        const isRefused = kind.kind === "Metal3Machine" && options?.namespace === "team-b";
        if (isRefused) throw new ClusterError("forbidden", "not there");
        return inner.list(kind, options);
      };
      const discover = async () => {
        const { served, ...rest } = await inner.discover();
        const machines = { group: INFRASTRUCTURE, kind: "Metal3Machine", version: "v1", plural: "x", namespaced: true };
        return { served: [...served, machines], ...rest };
      };
      return inNamespaces({ ...withLists(inner, list), discover }, { namespaces: homes, ownNamespace: "team-a" });
    });
    await expect(b.context.cluster.list(keyOf(m))).rejects.toMatchObject({ failure: "forbidden" });
    await b.sweep(collect);
    expect([await b.has(inA(spent)), await b.has(inB(spent))]).toEqual([true, true]);
  });

  test.each<readonly [situation: string, outcome: "there" | "forbidden", object: KubeObject]>([
    ["of a named namespace", "there", inA(t)],
    ["of our own", "there", inC(t)],
    ["of no namespace", "there", namespace("team-b")],
    ["of another namespace", "forbidden", inB(t)],
  ])("one object %s -> %s", async (_, outcome, one) => {
    const seen = seenBy("team-a");
    const asked = [seen.get(keyOf(one)), seen.exists(keyOf(one)), seen.deleted(keyOf(one), "1")];
    const failures = asked.map((answer) =>
      answer.then(
        () => "there",
        (error) => error.failure,
      ),
    );
    expect(new Set(await Promise.all(failures))).toEqual(new Set([outcome]));
  });

  test("an object of another namespace -> takes no write, and none is told of it", async () => {
    const inner = snapshotCluster(all);
    const theirs = (await inner.get(keyOf(inB(t)))) ?? t;
    const seen = inNamespaces(inner, { namespaces: ["team-a"], ownNamespace: "team-c" });
    const event = { type: "Normal", reason: "R", action: "A", note: "n", regarding: theirs } as const;
    for (const write of [
      () => seen.patch(theirs, { metadata: { labels: { a: "b" } } }),
      () => seen.create(inB(metal3MachineTemplate("u"))),
      () => seen.delete(theirs),
      () => seen.record(event),
    ]) {
      await expect(write()).rejects.toMatchObject({ failure: "forbidden" });
    }
    expect(await inner.get(keyOf(theirs))).toEqual(theirs);
    expect([inner.all().length, inner.events().length]).toEqual([snapshotCluster(all).all().length, 0]);
  });

  test.each([
    ["", [], true],
    ["", ["team-a"], true],
    ["team-b", [], true],
    ["team-b", ["team-a"], false],
    ["team-a", ["team-a"], true],
  ] as const)("namespace %j under NAMESPACES %j -> looked at: %s", (name, namespaces, expected) => {
    expect(isLookedAt(name, { namespaces })).toBe(expected);
  });
});

describe("a tenant's functions", () => {
  test("sweeps -> its templates are held, kept or let go, the others' stay as they were, and nothing is refused", async () => {
    const spent = metal3MachineTemplate("spent");
    const going = [held(terminating(retired(spent))), held(terminating(retired(t))), m];
    const b = tenant([...going, metal3MachineTemplate("new")].flatMap((one) => [inA(one), inB(one)]));
    const before = await b.live(inB(metal3MachineTemplate("new")));
    await b.sweep(retain);
    await b.sweep(collect);
    expect(b.refusals).toEqual([]);
    expect(hasHold(await b.live(inA(metal3MachineTemplate("new"))))).toBe(true);
    expect([await b.has(inA(spent)), await b.has(inA(t))]).toEqual([false, true]);
    expect(await b.live(inB(metal3MachineTemplate("new")))).toEqual(before);
    expect([await b.has(inB(spent)), await b.has(inB(t))]).toEqual([true, true]);
  });

  test("a machine of another namespace that names a template of its own by the same name -> does not keep ours", async () => {
    const b = tenant([inA(held(terminating(retired(t)))), inB(t), inB(m)]);
    await b.sweep(collect);
    expect([await b.has(inA(t)), b.refusals]).toEqual([false, []]);
  });

  test("a reference of its own into another namespace -> the template there is neither read nor written", async () => {
    const reaching = inA(metal3Machine("reaching"));
    const dataTemplate = { kind: "Metal3DataTemplate", name: "d", namespace: "team-b" };
    const gone = { ...reaching, spec: { dataTemplate } };
    const b = tenant([inB(held(terminating(retired(object(`Metal3DataTemplate.${t.apiVersion}`, "d")))))]);
    expect((await b.send(collect, "delete", gone)).acts).toEqual([]);
    expect([b.refusals, b.changes]).toEqual([[], []]);
  });

  test.each<readonly [situation: string, namespaces: string, object: KubeObject, status: number]>([
    ["of its namespace", "team-a", inA(t), 200],
    ["of one of two", "team-x,team-a", inA(t), 200],
    ["of another namespace", "team-a", inB(t), 204],
    ["of any namespace where none is named", "", inB(t), 200],
  ])("an event about a template %s -> %i", async (_, namespaces, one, status) => {
    const asked: string[] = [];
    const b = bench([inA(t), inB(t)], { NAMESPACES: namespaces }, (inner) => ({
      ...inner,
      get: async (key) => {
        asked.push(key.namespace);
        return inner.get(key);
      },
    }));
    const { headers, body } = resourceEvent("add", one);
    const answer = await ask(createApp("f", retain, b.context), "/", {
      method: "POST",
      headers: { ...headers },
      body,
    });
    expect([answer.status, asked.length > 0, hasHold(await b.live(one))]).toEqual([
      status,
      status === 200,
      status === 200,
    ]);
  });
});

describe("a tenant's programs", () => {
  const environment = { NAMESPACES: "team-a", POD_NAMESPACE: "team-a" };

  test("plan -> speaks of its namespace alone, and calls nothing missing that it cannot see", async () => {
    const classed = inA(cluster("c"));
    const topology = { class: "shared", classNamespace: "team-b", version: "v1.34.0" };
    const absent = { class: "absent", version: "v1.34.0" };
    const items = [
      { ...classed, spec: { topology } },
      { ...inA(cluster("d")), spec: { topology: absent } },
      inB(object("ClusterClass.cluster.x-k8s.io/v1beta1", "shared")),
      inA(t),
      inB(t),
    ];
    const folder = await folderOf({ "all.json": { apiVersion: "v1", kind: "List", items } });
    const planned = JSON.parse(await plan(["--snapshot", folder, "--json"], environment));
    const homes = planned.decisions.map((one: { object: { namespace: string } }) => one.object.namespace);
    expect(homes).toEqual(["team-a"]);
    expect(planned.missing.map((one: { target: { name: string } }) => one.target.name)).toEqual(["absent"]);
  });

  test("release --all -> takes the holds of its namespace alone", async () => {
    const b = tenant([inA(held(t)), inB(held(t))]);
    await release(b.context.cluster, b.context.settings, { of: "all" }, () => undefined);
    expect([hasHold(await b.live(inA(t))), hasHold(await b.live(inB(t)))]).toEqual([false, true]);
  });

  test("release while a Trigger stands in our own namespace, which is not named -> refused", async () => {
    const trigger = labelled(object("Trigger.eventing.knative.dev/v1", "retain"), {
      "app.kubernetes.io/part-of": "capi-caretaker",
    });
    const b = tenant([inA(held(t)), inC(trigger)], ["team-a"], "team-c");
    const released = release(b.context.cluster, b.context.settings, { of: "all" }, () => undefined);
    await expect(released).rejects.toThrow("Trigger team-c/retain");
    expect(b.changes).toEqual([]);
  });
});

test("kinds -> their scope is asked of the cluster once", async () => {
  const inner = snapshotCluster([inA(t), inA(m)]);
  const asked: string[] = [];
  const counting: Cluster = {
    ...inner,
    discover: async () => {
      asked.push("discover");
      return inner.discover();
    },
    list: async (kind, options) => {
      asked.push(groupKindText(kind));
      return inner.list(kind, options);
    },
  };
  const seen = inNamespaces(counting, { namespaces: ["team-a"], ownNamespace: "team-a" });
  for (const one of [t, m, t]) await seen.list(keyOf(one));
  expect(asked.filter((what) => what === "discover")).toHaveLength(1);
});
