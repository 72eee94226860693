import { connect } from "../shared/connect.ts";
import { readSettings } from "../shared/settings.ts";
import { runProgram } from "./exit.ts";
import { readScope } from "./release/options.ts";
import { release } from "./release/run.ts";

await runProgram(async () => {
  const scope = readScope(process.argv.slice(2));
  const cluster = await connect(readSettings(process.env));
  await release(cluster, scope, (line) => process.stdout.write(`${line}\n`));
});
