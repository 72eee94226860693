import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../e2e/harness/ports.ts";

export interface Program {
  readonly label: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Start {
  /** From the spawn to the last byte of the first answer. */
  readonly milliseconds: number;
  /** User and system time of all threads up to then, in milliseconds. */
  readonly cpu: number;
  /** Peak resident set up to then, in MiB. */
  readonly memory: number;
}

const BODY = JSON.stringify({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "c", namespace: "n", uid: "1", resourceVersion: "1" },
});
const EVENT = [
  "POST / HTTP/1.1",
  "host: f",
  "ce-id: 1",
  "ce-source: https://10.0.0.1:443",
  "ce-specversion: 1.0",
  "ce-type: dev.knative.apiserver.resource.add",
  "content-type: application/json",
  `content-length: ${BODY.length}`,
  "",
  BODY,
].join("\r\n");

/** Starts a program with a free PORT and sends it a CloudEvent until it takes one. Throws where that is not answered 204. */
export async function startOnce({ args, env, label }: Program): Promise<Start> {
  const port = await freePort();
  const begun = performance.now();
  const child = spawn(process.execPath, args, {
    env: { PORT: String(port), ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    const status = await firstAnswer(child, port);
    const milliseconds = performance.now() - begun;
    if (status !== "204") throw new Error(`${label} answered ${status}`);
    return { milliseconds, ...usedBy(child) };
  } finally {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
}

async function firstAnswer(child: ChildProcess, port: number): Promise<string> {
  for (;;) {
    const status = await ask(port);
    if (status !== undefined) return status;
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    await delay(1);
  }
}

/** The status; undefined while nobody listens. */
function ask(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(EVENT));
    socket.setEncoding("utf8").once("data", (text) => {
      resolve(String(text).slice(9, 12));
      socket.destroy();
    });
    socket.once("error", () => resolve(undefined));
  });
}

function usedBy({ pid }: ChildProcess): Pick<Start, "cpu" | "memory"> {
  const [, peak = 0] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]),
  );
  return { memory: Number(peak) / 1024, cpu: nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6 };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
