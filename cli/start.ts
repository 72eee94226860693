import { InputError } from "../shared/setup/input-error.ts";
import { runProgram } from "./exit.ts";

/** Every function by its name on the command line; only the one that is served is loaded. */
const FUNCTIONS: Readonly<Record<string, () => Promise<{ start(): Promise<void> }>>> = {
  "retain-templates": () => import("./start/retain-templates.ts"),
  "collect-templates": () => import("./start/collect-templates.ts"),
  "rewrite-urls": () => import("./start/rewrite-urls.ts"),
  "label-machines": () => import("./start/label-machines.ts"),
};

await runProgram(async () => {
  const [, , name = ""] = process.argv;
  const load = FUNCTIONS[name];
  if (load === undefined) {
    throw new InputError(`no function ${JSON.stringify(name)}; name one of ${Object.keys(FUNCTIONS).join(", ")}`);
  }
  await (await load()).start();
});
