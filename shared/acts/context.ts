import type { Cluster } from "../cluster/cluster.ts";
import type { Change } from "../events/change.ts";
import type { ObjectKey } from "../objects/object.ts";
import type { Log } from "../setup/log.ts";
import type { Settings } from "../setup/settings.ts";

/** All that a function gets from outside besides the event. */
export interface Context {
  readonly cluster: Cluster;
  readonly settings: Settings;
  readonly now: () => Temporal.Instant;
  readonly log: Log;
}

/** Something that was done to an object; `done` is the verb of the reply event. */
export interface Act {
  readonly noun: string;
  readonly done: string;
  readonly object: ObjectKey;
  readonly because: string;
}

/** What came of one event: the acts, and how many objects got which verdict. */
export interface Outcome {
  readonly acts: readonly Act[];
  readonly counts: Readonly<Record<string, number>>;
}

export const NOTHING: Outcome = { acts: [], counts: {} };

/**
 * One concern: gathers facts about a change, decides, carries the decision out.
 *
 * Throws when trying again may help; whatever is thrown, nothing is left in a state the next event or sweep cannot mend.
 */
export type Handle = (context: Context, change: Change) => Promise<Outcome>;
