import { failedWith } from "./cluster.ts";

/** A list of which pages expire more often than this changes faster than it can be read. */
const RESTARTS = 3;

/**
 * Reads a list, and begins anew where one of its pages has expired in between, at most three times. `read` begins with
 * nothing each time, since a list begun anew tells what was told already.
 *
 * Throws what `read` throws, ClusterError "expired" after the last attempt.
 */
export async function anewWhenExpired<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await read();
    } catch (error) {
      if (!failedWith(error, "expired") || restarts === RESTARTS) throw error;
    }
  }
}
