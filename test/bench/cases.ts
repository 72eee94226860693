import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import type { KubeObject } from "../e2e/harness/objects.ts";
import { resourceEvent } from "../e2e/scenario/events.ts";
import { clusters } from "./cluster/clusters.ts";
import { imageRoot } from "./cluster/templates.ts";
import { deletions, hostDeletion, loseWitness, postAll, sweep } from "./events.ts";
import type { Group } from "./options.ts";
import type { Concern } from "./served.ts";

/** One thing that is measured on a generated cluster. */
export interface Case {
  readonly name: string;
  readonly group: Group;
  readonly concern: Concern;
  readonly env?: Record<string, string>;
  /** In a process that has done nothing before. */
  readonly isCold?: boolean;
  /** So dear, or not to be repeated, that it is measured once. */
  readonly isOnce?: boolean;
  /** Also above 10,000 machines. */
  readonly isForLarge?: boolean;
  /** What has to happen first, unmeasured. Returns what is measured. */
  readonly prepare: (machines: number, controlPlane: ControlPlane) => Promise<(url: string) => Promise<void>>;
}

type Post = (machines: number) => Parameters<typeof postAll>[1];

const posting =
  (events: Post): Case["prepare"] =>
  async (machines) =>
  (url) =>
    postAll(url, events(machines));
const sweeping: Case["prepare"] = async () => sweep;

const collect = { concern: "collect-templates" } as const;
const burst = { ...collect, group: "event", isOnce: true, isForLarge: true } as const;

function rulesFile(folder: string, from: string): string {
  const file = join(folder, `rules-${new URL(from).hostname}.yaml`);
  writeFileSync(file, `rules:\n  - {from: "${from}", to: "https://172.20.0.10/images/", check: none}\n`);
  return file;
}

/** A Cluster whose update may be the one that unpaused it: nothing says since when it is not paused. */
function unpausedCluster(): KubeObject {
  const [cluster] = clusters();
  if (cluster === undefined) throw new Error("no cluster was generated");
  return { ...cluster, status: {} };
}

/** Everything that is measured on a cluster, in this order: a sweep first, which records what later events may ask for. */
export function casesIn(folder: string): readonly Case[] {
  const due = { DRY_RUN: "true", REWRITE_RULES: rulesFile(folder, imageRoot) };
  const idle = { REWRITE_RULES: rulesFile(folder, "http://192.0.2.1/") };
  return [
    {
      name: "collect: first sweep of a process",
      group: "sweep",
      ...collect,
      isCold: true,
      isOnce: true,
      isForLarge: true,
      prepare: sweeping,
    },
    { name: "collect: sweep", group: "sweep", ...collect, isForLarge: true, prepare: sweeping },
    { name: "retain: sweep", group: "sweep", concern: "retain-templates", isForLarge: true, prepare: sweeping },
    {
      name: "collect: event, first of a process",
      group: "event",
      ...collect,
      isCold: true,
      prepare: posting((machines) => deletions(machines, 1)),
    },
    {
      name: "collect: event, later",
      group: "event",
      ...collect,
      prepare: posting((machines) => deletions(machines, 1, { first: 1 })),
    },
    {
      name: "collect: event about a Metal3Machine (2 templates)",
      group: "event",
      ...collect,
      prepare: posting((machines) => [hostDeletion(machines, 2)]),
    },
    {
      name: "collect: 20 events at once, 1 template",
      ...burst,
      prepare: posting((machines) => deletions(machines, 20)),
    },
    {
      name: "collect: 20 events at once, 20 templates",
      ...burst,
      prepare: posting((machines) => deletions(machines, 20, { of: 20 })),
    },
    {
      name: "collect: 200 events at once, 1 template",
      ...burst,
      prepare: posting((machines) => deletions(machines, 200)),
    },
    {
      name: "collect: 200 events at once, 20 templates",
      ...burst,
      prepare: posting((machines) => deletions(machines, 200, { of: 20 })),
    },
    {
      name: "collect: event, its witness gone",
      group: "event",
      ...collect,
      isOnce: true,
      prepare: async (_, controlPlane) => {
        const event = await loseWitness(controlPlane, 3);
        return (url) => postAll(url, [event]);
      },
    },
    {
      name: "rewrite: sweep, all due (DRY_RUN)",
      group: "rewrite",
      concern: "rewrite-urls",
      env: due,
      isOnce: true,
      prepare: sweeping,
    },
    {
      name: "rewrite: Cluster updated, no rule matches",
      group: "rewrite",
      concern: "rewrite-urls",
      env: idle,
      prepare: posting(() => [resourceEvent("update", unpausedCluster())]),
    },
  ];
}
