/** Builds the real parts, then runs the end-to-end tests on a loopback of their own; arguments go to vitest. */
import { spawn } from "node:child_process";
import { globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.ts";
import { isolated } from "./harness/isolation.ts";
import { e2eFolder, projectFolder } from "./harness/paths.ts";
import { runFolder } from "./harness/run-folder.ts";

/** A given cluster lies outside of any private network. */
const isGiven = (process.env.E2E_KUBECONFIG ?? "") !== "";

function commandFor(args: readonly string[]): string[] {
  const vitest = join(projectFolder, "node_modules", "vitest", "vitest.mjs");
  const plain = [process.execPath, vitest, "run", "--config", join(e2eFolder, "vitest.config.ts"), ...args];
  if (isGiven) return plain;
  const alone = isolated(plain);
  if (alone === undefined) {
    console.warn("No private network namespace is allowed here; the tests run on this machine's own loopback.");
  }
  return alone ?? plain;
}

async function runTests(args: readonly string[]): Promise<number> {
  const folder = runFolder();
  const [program = "", ...rest] = commandFor(args);
  const child = spawn(program, rest, { stdio: "inherit", env: { ...process.env, E2E_RUN_FOLDER: folder } });
  // Ctrl-C reaches vitest itself; what is left to do here is to wait for it and to say where the logs are.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGKILL"));
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject).once("exit", (exitCode) => resolve(exitCode ?? 1));
  });
  if (code === 0 && process.env.E2E_KEEP_LOGS !== "true") {
    rmSync(folder, { recursive: true, force: true });
    return code;
  }
  // A run that was cut short has left its data, 64 MB for each control plane.
  for (const data of globSync("*/*/etcd", { cwd: folder }))
    rmSync(join(folder, data), { recursive: true, force: true });
  console.log(`Logs of this run: ${folder}`);
  return code;
}

try {
  await build();
  process.exitCode = await runTests(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
