import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { LAZY_PACKAGES, lazyModules, noLogThreads, wholeZod } from "./bundle/modules.ts";
import { openToAll, writeCompileCache } from "./bundle/warm.ts";

const PROJECT = join(import.meta.dirname, "..");

const FUNCTION_NAMES = ["retain-templates", "collect-templates", "rewrite-urls", "label-machines"] as const;

// V8 takes over what it compiled at the bundling, where this is the very Node that did; another one compiles anew.
const COMPILE_CACHE = `process.getBuiltinModule("node:module").enableCompileCache({directory:import.meta.dirname+"/compile-cache",portable:true});`;
// Some dependencies are CommonJS and ask for Node's own modules by a `require` that an ES module does not have.
const REQUIRE = `const require=process.getBuiltinModule("node:module").createRequire(import.meta.url);`;

const COMMON = {
  absWorkingDir: PROJECT,
  bundle: true,
  platform: "node",
  target: "node26",
  format: "esm",
  // Names stay as they are, so that the stack traces in logs can be read.
  minifySyntax: true,
  minifyWhitespace: true,
  // The licences of what is inside ask to go along.
  legalComments: "eof",
  logLevel: "warning",
  metafile: true,
} as const satisfies BuildOptions;

/** What each file that was written is made of: source files and those of packages, by their paths. */
export type Made = ReadonlyMap<string, readonly string[]>;

/**
 * Writes a folder that does with Node alone, wherever it lies and without a write, what cli/start.ts does: caretaker.mjs,
 * a file for each function, one for each package that few starts need, and what V8 compiled of them.
 */
export async function bundle(folder: string): Promise<Made> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const starts = FUNCTION_NAMES.map((name) =>
    build({
      ...COMMON,
      entryPoints: [`cli/start/${name}.ts`],
      outfile: join(folder, `${name}.mjs`),
      banner: { js: REQUIRE },
      external: Object.values(LAZY_PACKAGES).map((file) => `./${file}`),
      plugins: [wholeZod, noLogThreads, lazyModules],
    }),
  );
  const packages = Object.entries(LAZY_PACKAGES).map(([name, file]) =>
    build({
      ...COMMON,
      format: "cjs",
      stdin: { contents: `module.exports = require(${JSON.stringify(name)});`, resolveDir: PROJECT },
      outfile: join(folder, file),
    }),
  );
  const built = await Promise.all([
    ...starts,
    ...packages,
    build({
      ...COMMON,
      entryPoints: ["cli/start.ts"],
      outfile: join(folder, "caretaker.mjs"),
      banner: { js: COMPILE_CACHE },
      plugins: [
        {
          name: "functions",
          setup({ onResolve }) {
            onResolve({ filter: /^\.\/start\// }, ({ path }) => {
              return { path: path.replace("/start", "").replace(/\.ts$/, ".mjs"), external: true };
            });
          },
        },
      ],
    }),
  ]);
  for (const name of FUNCTION_NAMES) await writeCompileCache(join(folder, "caretaker.mjs"), name);
  await openToAll(join(folder, "compile-cache"));
  const outputs = built.flatMap(({ metafile }) => Object.entries(metafile.outputs));
  return new Map(
    outputs.map(([path, { inputs }]) => [
      basename(path),
      Object.keys(inputs).filter((one) => inputs[one]?.bytesInOutput),
    ]),
  );
}

if (import.meta.main) {
  const folder = join(PROJECT, "dist");
  await bundle(folder);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const { size } = await stat(join(folder, entry.name));
    console.log(`${entry.name}: ${(size / 1024).toFixed(0)} KiB`);
  }
}
