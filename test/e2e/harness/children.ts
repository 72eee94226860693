import type { ChildProcess } from "node:child_process";
import { runFolder } from "./run-folder.ts";

const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

process.once("exit", killAll);
// Without a listener these signals end the process with no exit event, and the children would stay.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    killAll();
    // Not process.exit, which vitest replaces by one that throws.
    process.kill(process.pid, signal);
  });
}
// The test runner was killed and can ask for nothing any more.
process.once("disconnect", () => {
  killAll();
  process.kill(process.pid, "SIGKILL");
});

/** Has a child process killed when this process ends, however that comes, as long as it runs. */
export function track(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** The environment of everything that is started: what the person's shell holds must not change a test. */
export function bareEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: runFolder("home"), TMPDIR: runFolder("tmp"), TZ: "UTC" };
}
