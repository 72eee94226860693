import { stat } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const PROJECT = join(import.meta.dirname, "..");

// Some dependencies are CommonJS and ask for Node's own modules by a `require` that an ES module does not have.
const REQUIRE = `import { createRequire as bundleRequire } from "node:module";\nconst require = bundleRequire(import.meta.url);`;

/**
 * Writes one file that does what cli/start.ts does with Node alone. Returns its size in bytes.
 *
 * Names stay as they are, so that the stack traces in logs can be read.
 */
export async function bundle(outfile: string): Promise<number> {
  await build({
    entryPoints: [join(PROJECT, "cli/start.ts")],
    outfile,
    bundle: true,
    platform: "node",
    target: "node26",
    format: "esm",
    minifySyntax: true,
    minifyWhitespace: true,
    // The licences of what is inside ask to go along.
    legalComments: "eof",
    banner: { js: REQUIRE },
    logLevel: "warning",
  });
  return (await stat(outfile)).size;
}

if (import.meta.main) {
  const outfile = join(PROJECT, "dist/caretaker.mjs");
  const size = await bundle(outfile);
  console.log(`${outfile}: ${(size / 1024).toFixed(0)} KiB`);
}
