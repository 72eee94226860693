import { setTimeout as delay } from "node:timers/promises";

/** Throw it inside an `eventually` when waiting longer cannot help, such as when the awaited process has ended. */
export class GiveUp extends Error {}

export interface Waiting {
  /** Milliseconds until it fails; 60,000 by default. */
  timeoutMs?: number;
  /** Milliseconds between two attempts; 100 by default. */
  everyMs?: number;
}

function shown(value: unknown): string {
  if (value instanceof Error) return value.message;
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
}

/**
 * Repeats an attempt until it gives something other than undefined, null or false, and returns that. An attempt that
 * throws counts as one that gave nothing, except for a GiveUp. Throws with what it waited for and the last answer or error.
 */
export async function eventually<T>(
  description: string,
  attempt: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  { timeoutMs = 60_000, everyMs = 100 }: Waiting = {},
): Promise<T> {
  const started = Date.now();
  let last: unknown;
  do {
    try {
      const value = await attempt();
      if (value !== undefined && value !== null && value !== false) return value;
      last = value;
    } catch (error) {
      if (error instanceof GiveUp)
        throw new Error(`gave up waiting for ${description}: ${error.message}`, { cause: error });
      last = error;
    }
    await delay(everyMs);
  } while (Date.now() - started < timeoutMs);
  const waited = Math.round((Date.now() - started) / 1000);
  throw new Error(`waited ${waited} s in vain for ${description}; last: ${shown(last)}`, { cause: last });
}

/**
 * Repeats an attempt for a time and throws as soon as it gives a sentence (what is wrong) or throws; for what must not happen.
 */
export async function stays(
  description: string,
  whatIsWrong: () => Promise<string | undefined> | string | undefined,
  { forMs, everyMs = 200 }: { forMs: number; everyMs?: number },
): Promise<void> {
  const started = Date.now();
  while (Date.now() - started < forMs) {
    const wrong = await whatIsWrong();
    if (wrong !== undefined)
      throw new Error(`${description} did not last: ${wrong} (after ${Date.now() - started} ms)`);
    await delay(everyMs);
  }
}
