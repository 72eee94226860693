import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import type { Case } from "./cases.ts";
import { type Measured, measure, medianOf } from "./measure.ts";
import { type Served, serve } from "./served.ts";

export interface Stage {
  readonly controlPlane: ControlPlane;
  readonly bundle: string;
  readonly machines: number;
  readonly runs: number;
}

/** The processes that serve, one for each function and its settings; one that died is replaced. */
export function servedOnes({ controlPlane, bundle }: Stage) {
  const running = new Map<string, Served>();
  return {
    async for({ concern, env = {}, isCold = false }: Case): Promise<Served> {
      const key = JSON.stringify([concern, env]);
      const present = running.get(key);
      if (present !== undefined && !isCold && present.ended() === undefined) return present;
      await present?.stop();
      const fresh = await serve(concern, bundle, controlPlane, env);
      running.set(key, fresh);
      return fresh;
    },
    async stop(): Promise<void> {
      for (const served of running.values()) await served.stop();
    },
  };
}

/**
 * Measures one case as often as it is to be, and gives the median. After each run `between` is awaited, so that what it is
 * compared with is measured under the same load.
 */
export async function runCase(
  stage: Stage,
  one: Case,
  served: ReturnType<typeof servedOnes>,
  between: (measured: Measured) => Promise<void>,
): Promise<Measured> {
  const several: Measured[] = [];
  for (let run = 0; run < (one.isOnce ? 1 : stage.runs); run += 1) {
    const process = await served.for(one);
    const act = await one.prepare(stage.machines, stage.controlPlane);
    const measured = await measure(stage.controlPlane, process, () => act(process.url));
    several.push(measured);
    if ("failure" in measured) {
      // It may still be at work on what nobody waits for any more.
      await process.stop(0);
      break;
    }
    await between(measured);
  }
  return medianOf(several);
}
