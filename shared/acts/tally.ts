import type { Log } from "../setup/log.ts";
import type { Act, Outcome } from "./context.ts";

/** Gathers what came of many objects, so that one failure does not stop the rest and none goes unsaid. */
export interface Tally {
  count(what: string, by?: number): void;
  /** Adds an act and counts it under its verb; undefined counts as nothing. */
  done(act: Act | undefined): void;
  /** The result of `attempt`, or undefined when it threw; the failure is logged with `what` and kept. */
  try<Result>(what: string, attempt: () => Promise<Result>): Promise<Result | undefined>;
  /** The whole outcome. Throws an AggregateError when any attempt failed. */
  outcome(): Outcome;
  /** What was done so far, and what failed by its `what`. */
  readonly acts: readonly Act[];
  readonly counts: Readonly<Record<string, number>>;
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly what: string;
  readonly error: unknown;
}

export function createTally(log: Log): Tally {
  const acts: Act[] = [];
  const counts: Record<string, number> = {};
  const failures: Failure[] = [];
  const count = (what: string, by = 1) => {
    counts[what] = (counts[what] ?? 0) + by;
  };
  return {
    count,
    done(act) {
      if (act === undefined) return;
      acts.push(act);
      count(act.done);
    },
    async try(what, attempt) {
      try {
        return await attempt();
      } catch (error) {
        log.error({ what, err: error }, "failed, the rest goes on");
        failures.push({ what, error });
        return undefined;
      }
    },
    outcome() {
      throwAny(failures);
      return { acts, counts };
    },
    acts,
    counts,
    failures,
  };
}

/** Throws an AggregateError of these failures, if there are any. */
export function throwAny(failures: readonly Failure[]): void {
  if (failures.length === 0) return;
  const errors = failures.map(({ error }) => error);
  throw new AggregateError(errors, `${failures.length} of these failed`);
}
