import { eventually } from "../harness/wait.ts";

/** For tests in which several rollouts share two cores. */
export const unhurried = { timeout: 600_000 };

/** Waits as long as a step of a rollout may take on a busy machine; see `eventually`. */
export function inTime<T>(
  description: string,
  attempt: () => Promise<T | undefined | null | false> | T | undefined | null | false,
): Promise<T> {
  return eventually(description, attempt, { timeoutMs: 240_000, everyMs: 250 });
}
