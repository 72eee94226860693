import { setTimeout as delay } from "node:timers/promises";
import type { Api, Selection, WatchEvent } from "./api-types.ts";
import { onTeardown } from "./teardown.ts";

export interface Following {
  /** Handles every object that exists now as if it had just appeared. */
  again(): void;
  stop(): Promise<void>;
}

/**
 * Handles what exists and then every change, one after the other, until stopped; lists anew whenever its watch ends or breaks.
 * What the handler throws is passed to `onError`, and the object is handled again within half a second.
 */
export function follow(
  api: Api,
  selection: Selection,
  handle: (event: WatchEvent) => Promise<void> | void,
  onError: (error: unknown) => void = () => {},
): Following {
  const end = new AbortController();
  let round = new AbortController();
  const once = async (signal: AbortSignal): Promise<void> => {
    const { items, resourceVersion } = await api.listAt(selection);
    for (const object of items) await handle({ type: "ADDED", object });
    for await (const event of api.watch({ ...selection, resourceVersion }, signal)) {
      if (event.type === "ERROR") return;
      await handle(event);
    }
  };
  const loop = async (): Promise<void> => {
    while (!end.signal.aborted) {
      round = new AbortController();
      const { signal } = round;
      await once(AbortSignal.any([signal, end.signal])).catch(async (error: unknown) => {
        if (end.signal.aborted || signal.aborted) return;
        onError(error);
        await delay(500);
      });
    }
  };
  const done = loop();
  const stop = async (): Promise<void> => {
    end.abort();
    await done;
  };
  onTeardown(`following ${selection.kind}`, stop);
  return { again: () => round.abort(), stop };
}
