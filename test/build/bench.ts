import type { Context, Handle, Outcome } from "../../shared/acts/context.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { type SnapshotCluster, snapshotCluster } from "../../shared/cluster/snapshot/cluster.ts";
import type { StoreChange } from "../../shared/cluster/snapshot/store.ts";
import type { Change } from "../../shared/events/change.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { createLog } from "../../shared/setup/log.ts";
import { readSettings } from "../../shared/setup/settings.ts";
import { withLists } from "./lists.ts";
import { NOON } from "./objects.ts";

/** A cluster in memory with a clock that only the test moves, and every change to it in order. */
export interface Bench {
  readonly cluster: SnapshotCluster;
  readonly context: Context;
  readonly changes: StoreChange[];
  pass(duration: Temporal.DurationLike): void;
  now(): Temporal.Instant;
  /** Runs a function on an event about the object as it now is, or as given. */
  send(handle: Handle, action: "add" | "update" | "delete", object: KubeObject): Promise<Outcome>;
  sweep(handle: Handle): Promise<Outcome>;
  /** The live object; throws when it is not there. */
  live(of: KubeObject | ObjectKey): Promise<KubeObject>;
  has(of: KubeObject | ObjectKey): Promise<boolean>;
}

/** @param wrap puts something between the functions and the cluster: a failure, a count */
export function bench(
  objects: readonly KubeObject[],
  environment: Readonly<Record<string, string>> = {},
  wrap: (cluster: Cluster) => Cluster = (cluster) => cluster,
): Bench {
  let now = NOON;
  const settings = readSettings({ LOG_LEVEL: "silent", ...environment });
  const cluster = snapshotCluster(objects, { now: () => now, ownNamespace: settings.ownNamespace });
  const changes: StoreChange[] = [];
  cluster.onChange((change) => changes.push(change));
  const wrapped = wrap(cluster);
  // What a test puts before `list` stands before the pages too.
  const seen = wrapped.pages === cluster.pages ? withLists(wrapped, wrapped.list) : wrapped;
  const context: Context = { cluster: seen, settings, now: () => now, log: createLog("silent", "test") };
  const keyed = (of: KubeObject | ObjectKey): ObjectKey =>
    "metadata" in of ? keyOf(of as KubeObject) : (of as ObjectKey);
  const run = (handle: Handle, change: Change) => handle(context, change);
  return {
    cluster,
    context,
    changes,
    now: () => now,
    pass(duration) {
      now = now.add(duration);
    },
    send: (handle, action, object) => run(handle, { type: "object", action, object }),
    sweep: (handle) => run(handle, { type: "sweep" }),
    async live(of) {
      const found = await cluster.get(keyed(of));
      if (found === undefined) throw new Error(`${JSON.stringify(keyed(of))} is not there`);
      return found;
    },
    has: async (of) => (await cluster.get(keyed(of))) !== undefined,
  };
}
