import { describe, expect, test } from "vitest";
import { handle as collect } from "../../functions/collect-templates/index.ts";
import { noteOf } from "../../functions/collect-templates/witness.ts";
import { annotation, NEEDED_BY, UNNEEDED_SINCE } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  held,
  kubeadmConfig,
  machineDeployment,
  machineSet,
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
const going = held(terminating(retired(t), noon(-30)));
const machines = Array.from({ length: 40 }, (_, index) => metal3Machine(`m${index}`, { clonedFrom: t }));
const [m0, m1, m2] = machines as [KubeObject, KubeObject, KubeObject];
const set = machineSet("old", { uses: t });
const notedBy = (...witnesses: readonly KubeObject[]) =>
  annotated(going, { [NEEDED_BY]: noteOf(witnesses.map(keyOf)) });

interface Costed {
  readonly b: Bench;
  /** "get Kind", "list Kind", "patch Kind", "Event Reason", each as often as it was asked for. */
  readonly made: string[];
}

/** @param pause is awaited before each page of a list */
function costed(objects: readonly KubeObject[], pause: (kind: string) => Promise<void> = async () => {}): Costed {
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
    async *pages(kind, options) {
      made.push(`list ${kind.kind}`);
      for await (const page of inner.pages(kind, options)) {
        await pause(kind.kind);
        yield page;
      }
    },
    async patch(live, patch) {
      made.push(`patch ${live.kind}`);
      return inner.patch(live, patch);
    },
    async record(event) {
      made.push(`Event ${event.reason}`);
      return inner.record(event);
    },
  }));
  return { b, made };
}

const listsIn = (made: readonly string[]) => made.filter((one) => one.startsWith("list"));
const noteIn = async (b: Bench) => JSON.parse(annotation(await b.live(t), NEEDED_BY) ?? "[]") as readonly string[];

describe("an event that names a retired, needed template", () => {
  test("its witness still refers -> two reads, nothing is written or told", async () => {
    const { b, made } = costed([mgmt, notedBy(m0), m0, m1]);
    await b.send(collect, "delete", metal3Machine("gone", { clonedFrom: t }));
    expect(made).toEqual(["get Metal3MachineTemplate", "get Metal3Machine"]);
  });

  test("nothing is noted yet -> the first page with a referrer ends the search, it is noted and told once", async () => {
    const { b, made } = costed([mgmt, going, set, ...machines]);
    await b.send(collect, "delete", metal3Machine("gone", { clonedFrom: t }));
    expect(listsIn(made)).not.toContain("list Metal3Machine");
    expect(made.filter((one) => !one.startsWith("list"))).toEqual([
      "get Metal3MachineTemplate",
      "patch Metal3MachineTemplate",
      "Event TemplateKept",
    ]);
    expect(await noteIn(b)).toEqual(["cluster.x-k8s.io/MachineSet/sylva/old"]);
    made.length = 0;
    await b.send(collect, "delete", metal3Machine("gone", { clonedFrom: t }));
    expect(made).toEqual(["get Metal3MachineTemplate", "get MachineSet"]);
  });

  test("its witness is gone and the next one noted speaks -> no list, the note forgets the first", async () => {
    const { b, made } = costed([mgmt, notedBy(m0, m1, m2), m1, m2]);
    await b.send(collect, "delete", m0);
    expect(listsIn(made)).toEqual([]);
    expect((await noteIn(b)).map((one) => one.split("/").at(-1))).toEqual(["m1", "m2"]);
  });

  test("none noted speaks -> others are searched and noted, no look at everything", async () => {
    const elsewhere = metal3Machine("m1", { clonedFrom: metal3MachineTemplate("other") });
    const { b, made } = costed([mgmt, notedBy(m0, m1), elsewhere, m2, kubeadmConfig("c")]);
    await b.send(collect, "delete", m0);
    expect(listsIn(made)).not.toContain("list KubeadmConfig");
    expect((await noteIn(b)).map((one) => one.split("/").at(-1))).toEqual(["m2"]);
  });

  test("it was unneeded for a while -> that mark goes without a list", async () => {
    const waited = annotated(notedBy(m0), { [UNNEEDED_SINCE]: "2026-09-01T11:00:00Z" });
    const { b, made } = costed([mgmt, waited, m0]);
    await b.send(collect, "update", m0);
    expect(annotation(await b.live(t), UNNEEDED_SINCE)).toBeUndefined();
    expect(listsIn(made)).toEqual([]);
  });

  test("a spec was switched back to it, machines speak for it -> renewed all the same", async () => {
    const deployment = machineDeployment("md", { uses: t });
    const { b } = costed([mgmt, notedBy(m0), m0, deployment]);
    b.pass({ minutes: 5 });
    const { acts } = await b.send(collect, "update", deployment);
    expect(acts).toMatchObject([{ done: "renewed", because: "wanted" }]);
    expect(annotation(await b.live(t), NEEDED_BY)).toBeUndefined();
  });
});

describe("what does not help a template", () => {
  test.each<[string, KubeObject, readonly KubeObject[]]>([
    ["a forged note of an object that does not refer", notedBy(m0), [metal3Machine("m0")]],
    ["a forged note of an object that was never there", notedBy(m0), []],
    [
      "a forged note of a machine in another namespace",
      annotated(going, { [NEEDED_BY]: '["infrastructure.cluster.x-k8s.io/Metal3Machine/other/m0"]' }),
      [],
    ],
    ["a forged note of itself", notedBy(t), []],
  ])("%s -> let go", async (_, template, others) => {
    const { b } = costed([mgmt, template, ...others]);
    await b.send(collect, "delete", metal3Machine("gone", { clonedFrom: t }));
    expect(await b.has(t)).toBe(false);
  });

  test("a note of a Secret -> never read", async () => {
    const forged = annotated(going, { [NEEDED_BY]: '["/Secret/sylva/s"]' });
    const { b, made } = costed([mgmt, forged, object("Secret.v1", "s")]);
    await b.send(collect, "delete", metal3Machine("gone", { clonedFrom: t }));
    expect(made.filter((one) => one.includes("Secret"))).toEqual([]);
  });
});

describe("events that arrive together", () => {
  test.each([20, 200])("%i about one needed template -> two reads of it and of its witness", async (count) => {
    const { b, made } = costed([mgmt, notedBy(m0), ...machines]);
    await Promise.all(Array.from({ length: count }, () => b.send(collect, "update", m1)));
    expect(made.toSorted()).toEqual(["get Metal3Machine", "get Metal3MachineTemplate"]);
  });

  test("200 about its last machine -> one look lets it go, one reply tells of it", async () => {
    const { b, made } = costed([mgmt, going]);
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => b.send(collect, "delete", m0)));
    expect(await b.has(t)).toBe(false);
    expect(outcomes.flatMap(({ acts }) => acts)).toMatchObject([{ done: "collected" }]);
    // One search, one look, one look after the drop.
    expect(listsIn(made).filter((one) => one === "list Metal3MachineTemplate").length).toBeLessThanOrEqual(3);
  });

  test("one arrives while a look runs, its referrer too -> that look does not answer it, and the template stays", async () => {
    const going2 = held(terminating(retired(metal3MachineTemplate("u")), noon(-30)));
    const slow = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let isFirst = true;
    const { b } = costed([mgmt, going, going2], async (kind) => {
      if (kind !== "Metal3MachineTemplate" || !isFirst) return;
      isFirst = false;
      begun.resolve();
      await slow.promise;
    });
    const first = b.send(collect, "update", going2);
    await begun.promise;
    const late = metal3Machine("late", { clonedFrom: t });
    await b.cluster.create(late);
    const second = b.send(collect, "add", late);
    slow.resolve();
    await Promise.all([first, second]);
    expect([await b.has(going2), await b.has(t)]).toEqual([false, true]);
  });

  test("one of them fails -> only those that name its template are sent again", async () => {
    const other = held(terminating(retired(metal3MachineTemplate("u")), noon(-30)));
    const b = bench([mgmt, going, other], {}, (inner) => ({
      ...inner,
      async patch(live, patch) {
        if (live.metadata.name === "t") throw new Error("a webhook is down");
        return inner.patch(live, patch);
      },
    }));
    const sent = await Promise.allSettled([
      b.send(collect, "delete", m0),
      b.send(collect, "delete", metal3Machine("x", { clonedFrom: other })),
    ]);
    expect(sent.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect([await b.has(t), await b.has(other)]).toEqual([true, false]);
  });
});

test("a rollout of many machines -> looks grow with the templates let go, not with the machines", async () => {
  const { b, made } = costed([mgmt, going, ...machines]);
  for (const machine of machines) {
    await b.cluster.delete(await b.live(machine));
    await b.send(collect, "delete", machine);
  }
  expect(await b.has(t)).toBe(false);
  const searches = Math.ceil(machines.length / 3);
  // A look lists the Clusters; a search that ends at a machine does too.
  expect(made.filter((one) => one === "list Cluster").length).toBeLessThanOrEqual(searches + 3);
  expect(made.filter((one) => one === "Event TemplateKept").length).toBe(1);
});
