/** `npm run bench`: measures the functions and plan on generated clusters; docs/performance.md says what the rows mean. */
import { rmSync } from "node:fs";
import { totalmem } from "node:os";
import { build } from "../e2e/build.ts";
import { runFolder } from "../e2e/harness/run-folder.ts";
import { tearDown } from "../e2e/harness/teardown.ts";
import { liveRows } from "./live-rows.ts";
import { help, type Options, readOptions, thisMachine } from "./options.ts";
import { planRows } from "./plan-rows.ts";
import { type Row, tableOf } from "./row.ts";
import { bundleOf } from "./served.ts";

const MOST_FOR_PLAN = 30_000;
const say = (text: string): void => console.error(text);

/** Measures all that is asked for; `rows` are there as they come, also when a later one fails. */
async function bench(options: Options, rows: Row[]): Promise<void> {
  const bundle = bundleOf(options.project);
  const isLive = options.only.some((group) => group !== "plan");
  for (const machines of options.machines) {
    if (isLive) rows.push(...(await liveRows(machines, options, bundle, say)));
    if (options.only.includes("plan") && machines <= MOST_FOR_PLAN) {
      say(`plan on a snapshot of ${machines} machines`);
      rows.push(...(await planRows(machines, options.project)));
    }
  }
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    console.log(help);
    return;
  }
  await build();
  const folder = runFolder();
  const rows: Row[] = [];
  try {
    await bench(options, rows);
  } finally {
    console.log(`${new Date().toISOString().slice(0, 10)}, ${thisMachine(totalmem())}\n\n${tableOf(rows)}`);
    await tearDown();
  }
  rmSync(folder, { recursive: true, force: true });
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
