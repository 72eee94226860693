import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { NODE_FLAGS } from "../../../cli/bundle/node-flags.ts";
import { POD, POD_ENVIRONMENT } from "../../../cli/bundle/warm.ts";
import { bundle } from "../../../cli/bundle.ts";
import { median, type Program, type Start, startOnce } from "./measure.ts";

// Starts of the functions as the image has them, and of the least that answers an event, in turn: npm run bench:start
// -- [--runs 13] [--also before=path/to/another/caretaker.mjs]. Linux alone tells the memory.

const FUNCTIONS = ["retain-templates", "collect-templates", "rewrite-urls", "label-machines"];

const { values } = parseArgs({
  options: { runs: { type: "string", default: "13" }, also: { type: "string", multiple: true, default: [] } },
});

const folder = await mkdtemp(join(tmpdir(), "bench-start-"));
try {
  print(await measure(await programs(), Number(values.runs)));
} finally {
  await rm(folder, { recursive: true });
}

async function programs(): Promise<readonly Program[]> {
  const hono = join(folder, "hono.mjs");
  const dist = join(folder, "dist");
  const rules = join(folder, "rules.yaml");
  await build({
    entryPoints: [join(import.meta.dirname, "hono.ts")],
    outfile: hono,
    bundle: true,
    platform: "node",
    target: "node26",
    format: "esm",
    minifySyntax: true,
    minifyWhitespace: true,
  });
  await bundle(dist);
  await writeFile(rules, "rules:\n  - from: http://a.example/\n    to: http://b.example/\n");
  const env = { ...POD_ENVIRONMENT, REWRITE_RULES: rules };
  // All of them as in a pod, whose API server this event does not need.
  const flags = ["--import", POD];
  const served = (path: string, name: string, more: readonly string[] = []) => ({
    args: [...more, ...flags, path, name],
    env,
  });
  const ours = join(dist, "caretaker.mjs");
  const others = values.also.flatMap((one) => {
    const [label = "", path = ""] = one.split("=", 2);
    return FUNCTIONS.map((name) => ({ label: `${name}, ${label}`, ...served(path, name) }));
  });
  return [
    { label: "bare hono, one file", args: [...flags, hono] },
    ...others,
    ...FUNCTIONS.map((name) => ({ label: name, ...served(ours, name, NODE_FLAGS) })),
    ...FUNCTIONS.map((name) => ({
      label: `${name}, no compile cache`,
      ...served(ours, name, NODE_FLAGS),
      env: { ...env, NODE_DISABLE_COMPILE_CACHE: "1" },
    })),
  ];
}

async function measure(all: readonly Program[], runs: number): Promise<ReadonlyMap<string, readonly Start[]>> {
  const starts = new Map<string, Start[]>(all.map(({ label }) => [label, []]));
  // The first of each reads its files from the disk.
  for (const program of all) await startOnce(program);
  for (let run = 0; run < runs; run += 1) {
    for (const program of all) starts.get(program.label)?.push(await startOnce(program));
  }
  return starts;
}

function print(starts: ReadonlyMap<string, readonly Start[]>): void {
  let base: Start | undefined;
  console.log(
    `node ${process.version}, ${values.runs} runs in turn, medians; from the spawn to the first event answered 204\n`,
  );
  console.log("| program | ms | ratio | CPU ms | ratio | peak MiB | ratio |\n|---|---|---|---|---|---|---|");
  for (const [label, all] of starts) {
    const of = (field: keyof Start) => median(all.map((one) => one[field]));
    const one = { milliseconds: of("milliseconds"), cpu: of("cpu"), memory: of("memory") };
    base ??= one;
    const cells = (["milliseconds", "cpu", "memory"] as const).map((field) => {
      return `${one[field].toFixed(0)} | ${(one[field] / (base?.[field] ?? 1)).toFixed(2)}`;
    });
    console.log(`| ${label} | ${cells.join(" | ")} |`);
  }
}
