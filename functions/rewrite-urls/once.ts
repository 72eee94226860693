import { NOTHING, type Outcome } from "../../shared/acts/context.ts";

/** What was done lately, or is being done. */
export type Memory = Map<string, Promise<void>>;

const MOST = 1000;

/**
 * Does what a key stands for once, however often and however close together it is asked for; what failed is done again.
 * It only saves work: the oldest of a thousand keys is forgotten, and a process that starts remembers none.
 */
export async function once(memory: Memory, key: string, act: () => Promise<Outcome>): Promise<Outcome> {
  const before = memory.get(key);
  if (before !== undefined) {
    await before;
    return NOTHING;
  }
  const outcome = act();
  const done = outcome.then(() => {});
  // Whoever asks meanwhile fails with it, but there need not be anybody.
  done.catch(() => {});
  memory.set(key, done);
  const [oldest] = memory.keys();
  if (memory.size > MOST && oldest !== undefined) memory.delete(oldest);
  try {
    return await outcome;
  } catch (error) {
    memory.delete(key);
    throw error;
  }
}
