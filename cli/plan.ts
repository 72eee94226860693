import { runProgram } from "./exit.ts";
import { plan } from "./plan/run.ts";

await runProgram(async () => {
  process.stdout.write(`${await plan(process.argv.slice(2), process.env)}\n`);
});
