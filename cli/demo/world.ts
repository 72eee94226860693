import type { Context, Handle } from "../../shared/acts/context.ts";
import { type SnapshotCluster, snapshotCluster } from "../../shared/cluster/snapshot/cluster.ts";
import type { StoreChange } from "../../shared/cluster/snapshot/store.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { startServer } from "../../shared/serving/listen.ts";
import { createApp } from "../../shared/serving/serve.ts";
import { createLog } from "../../shared/setup/log.ts";
import { readSettings } from "../../shared/setup/settings.ts";
import { type Answer, pingEvent, resourceEvent, send } from "./source.ts";

/** A cluster in memory, with functions served on loopback or without them. */
export interface World {
  readonly cluster: SnapshotCluster;
  /** Delivers every event there is, and those that the answers cause, until nothing happens any more. */
  settle(): Promise<void>;
  /** A sweep of each function, as the PingSource causes it, and all that follows. */
  sweep(): Promise<void>;
  /** Moves the clock on; nothing happens by itself. */
  pass(duration: Temporal.DurationLike): void;
  close(): Promise<void>;
}

const START = Temporal.Instant.from("2026-05-05T09:00:00Z");

export interface WorldOptions {
  /** What is served, by name; nothing at all is the world without capi-caretaker. */
  readonly functions: Readonly<Record<string, Handle>>;
  /** The rules file of rewrite-urls. */
  readonly rules?: string;
  /** Called with every answer that carries a reply. */
  readonly hear: (answer: Answer) => void;
}

export async function createWorld(objects: readonly KubeObject[], options: WorldOptions): Promise<World> {
  const { functions, rules, hear } = options;
  let now = START;
  const settings = readSettings({ LOG_LEVEL: "silent", REWRITE_RULES: rules });
  const cluster = snapshotCluster(objects, { now: () => now, ownNamespace: settings.ownNamespace });
  const pending: StoreChange[] = [];
  cluster.onChange((change) => pending.push(change));
  const context: Context = { cluster, settings, now: () => now, log: createLog("silent", "demo") };
  const servers = await Promise.all(
    Object.entries(functions).map(([name, handle]) => startServer(createApp(name, handle, context), 0)),
  );
  const deliver = async (event: Parameters<typeof send>[0]) => {
    for (const { port } of servers) {
      const answer = await send(event, `http://127.0.0.1:${port}/`);
      if (answer.status >= 300) throw new Error(`a function answered ${answer.status} to ${event.type}`);
      if (answer.reply !== undefined) hear(answer);
    }
  };
  const settle = async () => {
    for (let change = pending.shift(); change !== undefined; change = pending.shift()) {
      await deliver(resourceEvent(change));
    }
  };
  return {
    cluster,
    settle,
    async sweep() {
      await deliver(pingEvent());
      await settle();
    },
    pass(duration) {
      now = now.add(duration);
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}
