import { enableCompileCache } from "node:module";
import { runProgram } from "./exit.ts";

// Types are stripped and code is compiled once for all runs, which takes half of the time that loading does.
enableCompileCache();

await runProgram(async () => {
  const { plan } = await import("./plan/run.ts");
  process.stdout.write(`${await plan(process.argv.slice(2), process.env)}\n`);
});
