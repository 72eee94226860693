import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { InputError } from "../shared/setup/input-error.ts";
import { runProgram } from "./exit.ts";
import { buildImage } from "./image/build.ts";
import { pushImage } from "./image/push.ts";

// Writes an OCI image layout for every architecture, without a container engine, and pushes it where it is told to.
await runProgram(async () => {
  const { out, push } = optionsFrom(process.argv.slice(2));
  const layout = resolve(out);
  process.stdout.write(`${layout}: ${await buildImage(layout)}\n`);
  if (push !== undefined) process.stdout.write(`${pushImage(layout, push)}\n`);
});

function optionsFrom(args: readonly string[]) {
  const options = { out: { type: "string", default: "build/image" }, push: { type: "string" } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new InputError(`${String(error)}; options are --out DIR and --push REGISTRY/REPO:TAG`, { cause: error });
  }
}
