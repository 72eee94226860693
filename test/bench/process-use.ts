import { readFileSync, writeFileSync } from "node:fs";

/** What a process has used since it began. */
export interface ProcessUse {
  /** Milliseconds of CPU, its own and the kernel's for it. */
  readonly cpuMs: number;
  /** Bytes that it read, from the network almost all of them: what came over its connections, encrypted as it was. */
  readonly bytesRead: number;
  /** The most memory it has held since `forgetPeak`, in bytes. */
  readonly peakBytes: number;
}

/** The kernel's clock tick for user space is 10 ms on every architecture that Node runs on (proc(5), sysconf(_SC_CLK_TCK)). */
const TICK_MS = 10;

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? Number.NaN);
}

/** Reads what a process has used, from Linux' /proc. Throws where there is no such process. */
export function useOf(pid: number): ProcessUse {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, may hold spaces.
  const [userTicks = 0, systemTicks = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return {
    cpuMs: (userTicks + systemTicks) * TICK_MS,
    bytesRead: field(readFileSync(`/proc/${pid}/io`, "utf8"), "rchar"),
    peakBytes: field(readFileSync(`/proc/${pid}/status`, "utf8"), "VmHWM") * 1024,
  };
}

/** Has the peak of a process counted from now on, where the kernel lets us; else it stays that of its whole life. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // Not every kernel has it, and the peak of a life is a peak as well.
  }
}
