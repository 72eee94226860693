import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bareEnvironment, track } from "./children.ts";
import { runFolder } from "./run-folder.ts";
import { onTeardown } from "./teardown.ts";
import { eventually, GiveUp } from "./wait.ts";

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process that the harness started and will end. */
export interface Child {
  name: string;
  pid: number;
  /** Both its output streams, appended. */
  logFile: string;
  /** How it ended; undefined while it runs. */
  ended(): Ended | undefined;
  /** Resolves when it has ended, however that came. */
  exited: Promise<Ended>;
  /** Sends a signal, by default SIGKILL; does nothing when it has ended. */
  kill(signal?: NodeJS.Signals): void;
  /** Sends SIGTERM, after `graceMs` (10,000 by default) SIGKILL, and waits for the end. */
  stop(graceMs?: number): Promise<Ended>;
  /** The log so far. */
  log(): string;
}

export interface Start {
  name: string;
  command: string;
  args?: readonly string[];
  /** Added to a bare environment (PATH, HOME, TMPDIR). */
  env?: Record<string, string>;
  cwd?: string;
}

/** Starts a process with its log in the run's folder. Throws when the command cannot be run. */
export async function startProcess({ name, command, args = [], env = {}, cwd }: Start): Promise<Child> {
  const logFile = join(runFolder(), `${name}.log`);
  const log = openSync(logFile, "a");
  const child = spawn(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...bareEnvironment(), ...env },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  let end: Ended | undefined;
  const exited = new Promise<Ended>((resolve) => {
    child.once("exit", (code, signal) => {
      end = { code, signal };
      resolve(end);
    });
  });
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  track(child);
  const kill = (signal: NodeJS.Signals = "SIGKILL"): void => void child.kill(signal);
  const forget = onTeardown(name, async () => {
    kill();
    await exited;
  });
  void exited.then(forget);
  return {
    name,
    pid: child.pid ?? 0,
    logFile,
    ended: () => end,
    exited,
    kill,
    async stop(graceMs = 10_000) {
      kill("SIGTERM");
      const timer = setTimeout(kill, graceMs);
      return exited.finally(() => clearTimeout(timer));
    },
    log: () => readFileSync(logFile, "utf8"),
  };
}

/** Waits until a process is ready; throws at once, with the end of its log, when it ends before that. */
export async function untilReady(child: Child, isReady: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  await eventually(
    `${child.name} to be ready (log: ${child.logFile})`,
    async () => {
      const end = child.ended();
      if (end !== undefined) {
        throw new GiveUp(
          `it ended with ${end.code ?? end.signal}: ${child.log().trimEnd().split("\n").slice(-20).join("\n")}`,
        );
      }
      return isReady();
    },
    { timeoutMs },
  );
}

/** Whether a plain HTTP address answers with a 2xx. */
export async function answersOk(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2000) }).then(async (response) => {
    await response.body?.cancel();
    return response.ok;
  });
}
