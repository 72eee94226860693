import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { runsFolder } from "./paths.ts";

const started = new Date().toISOString().replaceAll(/[:.]/g, "-");

/**
 * Makes and returns a folder of this run: `<E2E_RUN_FOLDER>/<test file>/<name>`. run.ts sets the first, setup.ts the second.
 */
export function runFolder(...name: string[]): string {
  const run = process.env.E2E_RUN_FOLDER ?? join(runsFolder, `${started}-${process.pid}`);
  const folder = join(run, process.env.E2E_TEST_FILE ?? "", ...name);
  mkdirSync(folder, { recursive: true });
  return folder;
}
