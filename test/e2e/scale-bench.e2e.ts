import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { atMost } from "../../shared/concurrency/at-most.ts";
import { clusters, oldMachineSet } from "../bench/cluster/clusters.ts";
import { machineWithParts, oldMachinesOf } from "../bench/cluster/machines.ts";
import { configTemplate, machineTemplate, rollingCount } from "../bench/cluster/templates.ts";
import { deletions, loseWitness, postAll, sweep } from "../bench/events.ts";
import { startGenerated } from "../bench/live.ts";
import { countsOf, listedPaths, requestsDuring } from "../bench/requests.ts";
import { atOnce } from "./harness/at-once.ts";
import type { Request } from "./harness/audit.ts";
import type { CloudEvent } from "./harness/cloud-event.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { type ServedFunction, startFunction } from "./harness/functions.ts";
import { type KubeObject, refOf } from "./harness/objects.ts";
import { resourceEvent } from "./scenario/events.ts";
import { isHeld } from "./scenario/marks.ts";

// The short form of `npm run bench`: only what does not depend on the machine is looked at, never a time.
const machines = 1000;
/** Objects of one page of a list. */
const page = 500;

let controlPlane: ControlPlane;
let collect: ServedFunction;
/** What one sweep of collect-templates asks. */
let swept: readonly Request[];

const during = (act: () => Promise<unknown>) => requestsDuring(controlPlane, act);

beforeAll(async () => {
  controlPlane = await startGenerated(machines);
  collect = await startFunction("collect-templates", controlPlane);
  // The first sweep records what it found out, and discovery is asked once in a life.
  await sweep(collect.url);
  swept = await during(() => sweep(collect.url));
});

test("a sweep of 1,000 machines and 200 templates -> each kind listed once, page by page, nothing else read or written", () => {
  for (const path of listedPaths(swept)) {
    const pages = swept.filter(({ verb, requestURI }) => verb === "list" && requestURI.split("?")[0] === path);
    expect(pages.length, path).toBeLessThanOrEqual(machines / page);
  }
  expect(swept.filter(({ verb, requestURI }) => verb !== "list" && !/^\/apis?(\?|$)/.test(requestURI))).toEqual([]);
});

test.each<[string, () => readonly CloudEvent[], number]>([
  ["one event", () => deletions(machines, 1), 3],
  ["another event", () => deletions(machines, 1, { first: 1 }), 3],
  ["20 events at once", () => deletions(machines, 20), 25],
  ["200 events at once", () => deletions(machines, 200), 100],
  ["20 events at once that name 20 templates", () => deletions(machines, 20, { of: 20 }), 60],
])("%s naming what is retired and still needed -> a few reads, no list, no write", async (_, events, most) => {
  const sent = events();
  const counts = countsOf(await during(() => atOnce(collect, sent.length, () => postAll(collect.url, sent))));

  expect(counts).toMatchObject({ lists: 0, writes: 0, events: 0 });
  expect(counts.all).toBeLessThanOrEqual(most);
});

test("the witness of a retired template goes -> one look that finds another, and the next event is cheap again", async () => {
  const template = refOf(configTemplate(3, "old"));
  const event = await loseWitness(controlPlane, 3);
  const found = countsOf(await during(() => postAll(collect.url, [event])));
  expect(found.lists).toBeLessThanOrEqual(countsOf(swept).lists);
  expect(found.events).toBe(0);
  expect(isHeld(await controlPlane.api.get(template))).toBe(true);

  const next = countsOf(await during(() => postAll(collect.url, deletions(machines, 1, { first: 3 }))));
  expect(next).toMatchObject({ lists: 0, writes: 0 });
  expect(next.all).toBeLessThanOrEqual(3);
});

test("a Cluster changes and no rule takes any URL -> rewrite-urls looks at most once at each kind and writes nothing", async () => {
  const rules = join(controlPlane.folder, "rules.yaml");
  writeFileSync(rules, "rules:\n  - {from: http://192.0.2.1/, to: https://172.20.0.10/, check: none}\n");
  const rewrite = await startFunction("rewrite-urls", controlPlane, { env: { REWRITE_RULES: rules } });
  const cluster = { ...(clusters()[0] as KubeObject), status: {} };

  const asked = await during(() => postAll(rewrite.url, [resourceEvent("update", cluster)]));

  expect(countsOf(asked)).toMatchObject({ writes: 0, events: 0 });
  expect(countsOf(asked).lists).toBeLessThanOrEqual(listedPaths(asked).length * (machines / page));
});

/** Deletes an object for good and tells the function of it, as an event source would. */
async function gone(object: KubeObject): Promise<void> {
  const { api } = controlPlane;
  const live = await api.get(refOf(object));
  if (live === undefined) return;
  await api.delete(refOf(object));
  await postAll(collect.url, [resourceEvent("delete", live)]);
}

test("a rollout of 200 machines in 25 clusters ends -> looks for as many times as templates are let go, not machines, and a handful of Events", async () => {
  const { api } = controlPlane;
  const clustersInRollout = Array.from({ length: rollingCount }, (_, index) => index);
  const templates = clustersInRollout.flatMap((cluster) => [
    configTemplate(cluster, "old"),
    machineTemplate(cluster, "old"),
  ]);
  let machinesGone = 0;
  const asked = await during(() =>
    atMost(8, clustersInRollout, async (cluster) => {
      for (const index of oldMachinesOf(cluster, 0, 8)) {
        const [, host, config] = machineWithParts(index);
        await gone(host);
        await gone(config);
        machinesGone += 1;
      }
      await gone(oldMachineSet(cluster));
    }),
  );
  const left = await Promise.all(templates.map((one) => api.get(refOf(one))));
  const looks = asked.filter(
    ({ verb, requestURI }) => verb === "list" && requestURI.split("?")[0]?.endsWith("/clusters"),
  );

  expect([machinesGone, left.filter((one) => one !== undefined).length]).toEqual([200, 0]);
  // For each template one search that finds nothing, a look, and a look after the drop; those that wait share them.
  expect(looks.length).toBeLessThanOrEqual(3 * templates.length);
  // Each template's end, and for some why it stays.
  expect(countsOf(asked).events).toBeLessThanOrEqual(2 * templates.length);
});
