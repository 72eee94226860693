import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
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
  /** Added to a bare environment (PATH, HOME, TMPDIR): what the person's shell holds must not change a test. */
  env?: Record<string, string>;
  cwd?: string;
}

const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

process.once("exit", killAll);
// Without a listener these signals end the process with no exit event, and the children would stay.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.once(signal, () => process.exit(code));
}

/** The bare environment of everything that is started. Folders lie in the run's. */
export function bareEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: runFolder("home"), TMPDIR: runFolder("tmp"), TZ: "UTC" };
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
      running.delete(child);
      end = { code, signal };
      resolve(end);
    });
  });
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  running.add(child);
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
          `it ended with ${end.code ?? end.signal}: ${child.log().trimEnd().split("\n").slice(-5).join("\n")}`,
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

/** Runs a command to its end and collects what it printed. Never throws for an exit code. */
export async function run(
  command: string,
  args: readonly string[],
  { env = {}, cwd, input }: { env?: Record<string, string>; cwd?: string; input?: string } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(command, args, { ...(cwd === undefined ? {} : { cwd }), env: { ...bareEnvironment(), ...env } });
  running.add(child);
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  child.stdin.on("error", () => {}).end(input);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  running.delete(child);
  return { code, ...output };
}
