import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startProcess } from "../e2e/harness/process.ts";
import { runFolder } from "../e2e/harness/run-folder.ts";
import { generate } from "./cluster/generate.ts";
import type { Measured } from "./measure.ts";
import { type ProcessUse, useOf } from "./process-use.ts";
import type { Row } from "./row.ts";

const LONGEST_MS = 300_000;

/** Writes a generated cluster as one List, as `kubectl get -o json` prints it. Returns the folder it stands in. */
function writeDump(machines: number): string {
  const folder = runFolder(`dump-${machines}`);
  const file = openSync(join(folder, "dump.json"), "w");
  let separator = '{"apiVersion":"v1","kind":"List","items":[\n';
  for (const object of generate(machines)) {
    writeSync(file, separator + JSON.stringify(object));
    separator = ",\n";
  }
  writeSync(file, "\n]}\n");
  closeSync(file);
  return folder;
}

/** Runs a program of Node to its end and gives what it used; a failure where it ends badly or takes too long. */
async function measureProgram(name: string, cwd: string, args: readonly string[]): Promise<Measured> {
  const start = performance.now();
  const child = await startProcess({ name, command: process.execPath, args, cwd });
  let use: ProcessUse | undefined;
  while (child.ended() === undefined) {
    // Its last moments are not seen, a twentieth of a second at most.
    await Promise.race([child.exited, delay(50)]);
    try {
      const now = useOf(child.pid);
      // What has ended and was not waited for yet has no memory any more.
      if (Number.isFinite(now.peakBytes)) use = now;
    } catch {
      // It has ended.
    }
    if (performance.now() - start > LONGEST_MS) {
      await child.stop(0);
      return { failure: `not done after ${LONGEST_MS / 1000} s` };
    }
  }
  const { code, signal } = await child.exited;
  if (code !== 0) return { failure: `the program died (${signal ?? `exit ${code}`})` };
  const wallMs = performance.now() - start;
  const requests = { all: 0, lists: 0, writes: 0, events: 0 };
  return { cost: { wallMs, cpuMs: 0, bytesRead: 0, peakBytes: 0, ...use, requests }, asked: [] };
}

/** Measures plan on a snapshot of a generated cluster, and JSON.parse alone on the same file. */
export async function planRows(machines: number, project: string): Promise<readonly Row[]> {
  const folder = writeDump(machines);
  try {
    const plan = ["cli/plan.ts", "--snapshot", folder, "--json"];
    const measured = await measureProgram(`plan-${machines}`, project, plan);
    const cpu = process.cpuUsage();
    const start = performance.now();
    JSON.parse(readFileSync(join(folder, "dump.json"), "utf8"));
    const wallMs = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    const cpuMs = (user + system) / 1000;
    const toParse = "cost" in measured ? measured.cost.cpuMs / cpuMs : undefined;
    return [
      { machines, name: "plan --snapshot, one JSON file", measured, toParse },
      { machines, name: "JSON.parse of that file", measured: { cost: { wallMs, cpuMs } } },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
