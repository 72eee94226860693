import { describe, expect, it } from "vitest";
import { createTally } from "../../../shared/acts/tally.ts";
import { tell } from "../../../shared/acts/tell.ts";
import { ClusterError, type EventRecord } from "../../../shared/cluster/cluster.ts";
import { dryRun } from "../../../shared/cluster/dry-run.ts";
import { snapshotCluster } from "../../../shared/cluster/snapshot/cluster.ts";
import { keyOf } from "../../../shared/objects/object.ts";
import { createLog } from "../../../shared/setup/log.ts";
import { bench } from "../../build/bench.ts";
import { metal3MachineTemplate } from "../../build/objects.ts";

const template = metal3MachineTemplate("t");
const event: EventRecord = { regarding: template, type: "Normal", reason: "TemplateHeld", action: "Hold", note: "n" };

describe("tell", () => {
  it("records an Event", async () => {
    const { context, cluster } = bench([template]);
    await tell(context, event);
    expect(cluster.events()).toEqual([event]);
  });

  it.each([new ClusterError("forbidden", "x"), new ClusterError("unavailable", "x"), new TypeError("x")])(
    "that fails with %s -> what it tells about goes on",
    async (error) => {
      const refuse = async () => {
        throw error;
      };
      const { context } = bench([template], {}, (inner) => ({ ...inner, record: refuse }));
      await expect(tell(context, event)).resolves.toBeUndefined();
    },
  );
});

describe("telling again", () => {
  const other: EventRecord = { ...event, regarding: metal3MachineTemplate("u") };
  const changed: EventRecord = { ...event, note: "another note" };
  const inState = (state: string, note = "n"): EventRecord => ({ ...event, state, note });

  it.each<[string, EventRecord, EventRecord, number]>([
    ["the same", event, event, 1],
    ["of another object", event, other, 2],
    ["with another reason", event, { ...event, reason: "Other" }, 2],
    ["with another note", event, changed, 2],
    ["the same state with another note", inState("s"), inState("s", "another note"), 1],
    ["another state", inState("s"), inState("t"), 2],
  ])("%s -> sent %4$i times", async (_situation, first, second, times) => {
    const { context, sent } = counting();
    await tell(context, first);
    await tell(context, second);
    expect(sent()).toBe(times);
  });

  it("half an hour later -> sent again, since the API server forgets", async () => {
    const { world, context, sent } = counting();
    await tell(context, event);
    world.pass({ minutes: 29 });
    await tell(context, event);
    expect(sent()).toBe(1);
    world.pass({ minutes: 1 });
    await tell(context, event);
    expect(sent()).toBe(2);
  });

  it("it failed -> sent again", async () => {
    const { context, sent } = counting({ failures: 1 });
    await tell(context, event);
    await tell(context, event);
    expect(sent()).toBe(2);
  });

  function counting({ failures = 0 } = {}) {
    let sent = 0;
    const world = bench([template], {}, (inner) => ({
      ...inner,
      async record(one) {
        sent += 1;
        if (sent <= failures) throw new ClusterError("unavailable", "x");
        await inner.record(one);
      },
    }));
    return { world, context: world.context, sent: () => sent };
  }
});

describe("tally", () => {
  const tally = () => createTally(createLog("silent", "test"));
  const act = { noun: "template", done: "held", object: keyOf(template), because: "not-held" };

  it("counts, and acts under their verbs", () => {
    const one = tally();
    one.count("templates", 3);
    one.count("templates");
    one.done(act);
    one.done(act);
    one.done(undefined);
    expect(one.outcome()).toEqual({ acts: [act, act], counts: { templates: 4, held: 2 } });
  });

  it("one failure does not stop the rest, and none goes unsaid", async () => {
    const one = tally();
    const fail = async () => {
      throw new Error("x");
    };
    expect(await one.try("a", fail)).toBeUndefined();
    expect(await one.try("b", async () => "done")).toBe("done");
    expect(await one.try("c", fail)).toBeUndefined();
    expect(() => one.outcome()).toThrow(AggregateError);
    expect(() => one.outcome()).toThrow("2 of these failed");
  });
});

describe("a dry run", () => {
  it("reads as the cluster does and writes nothing", async () => {
    const inner = snapshotCluster([template]);
    const changes: unknown[] = [];
    inner.onChange((change) => changes.push(change));
    const dry = dryRun(inner);
    const live = await dry.get(keyOf(template));
    if (live === undefined) throw new Error("not there");
    await dry.patch(live, { metadata: { labels: { x: "y" } } });
    await dry.create(metal3MachineTemplate("u"));
    await dry.delete(live);
    await dry.record(event);
    expect(changes).toEqual([]);
    expect(inner.events()).toEqual([]);
    expect(await dry.list(keyOf(template))).toEqual([live]);
    expect(await dry.deleted(keyOf(template), "1")).toBeUndefined();
    expect((await dry.discover()).served).toEqual((await inner.discover()).served);
  });
});
