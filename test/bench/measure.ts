import type { Request } from "../e2e/harness/audit.ts";
import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import { forgetPeak, useOf } from "./process-use.ts";
import { countsOf, type RequestCounts, requestsDuring } from "./requests.ts";
import type { Served } from "./served.ts";

/** What one thing cost a function. */
export interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly bytesRead: number;
  readonly peakBytes: number;
  readonly requests: RequestCounts;
}

/** What came of a measurement: its cost, or why there is none. */
export type Measured = { readonly cost: Cost; readonly asked: readonly Request[] } | { readonly failure: string };

/** Measures what `act` costs a served function. A function that dies of it, and an `act` that throws, is a failure. */
export async function measure(controlPlane: ControlPlane, served: Served, act: () => Promise<void>): Promise<Measured> {
  const before = useOf(served.pid);
  forgetPeak(served.pid);
  let wallMs = 0;
  try {
    const asked = await requestsDuring(controlPlane, async () => {
      const start = performance.now();
      await act();
      wallMs = performance.now() - start;
    });
    const after = useOf(served.pid);
    const cost = {
      wallMs,
      cpuMs: after.cpuMs - before.cpuMs,
      bytesRead: after.bytesRead - before.bytesRead,
      peakBytes: after.peakBytes,
      requests: countsOf(asked),
    };
    return { cost, asked };
  } catch (error) {
    const ended = served.ended();
    if (ended !== undefined) return { failure: `the function died (${ended.signal ?? `exit ${ended.code}`})` };
    if (error instanceof Error && error.name === "TimeoutError") return { failure: "no answer in 240 s" };
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

/** One line for whoever waits for the table. */
export function inShort(measured: Measured): string {
  if ("failure" in measured) return measured.failure;
  const { wallMs, cpuMs, requests } = measured.cost;
  return `${requests.all} requests, ${(wallMs / 1000).toFixed(3)} s, ${(cpuMs / 1000).toFixed(2)} s of CPU`;
}

/** The one in the middle of several measurements by wall time; the first failure where any failed. */
export function medianOf(several: readonly Measured[]): Measured {
  const failed = several.find((one) => "failure" in one);
  if (failed !== undefined) return failed;
  const costs = several.flatMap((one) => ("cost" in one ? [one] : []));
  const [...sorted] = costs.toSorted((a, b) => a.cost.wallMs - b.cost.wallMs);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? { failure: "nothing was measured" };
}
