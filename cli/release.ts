import { connect } from "../shared/cluster/connect.ts";
import { readSettings } from "../shared/setup/settings.ts";
import { runProgram } from "./exit.ts";
import { readScope } from "./release/options.ts";
import { release } from "./release/run.ts";

await runProgram(async () => {
  const scope = readScope(process.argv.slice(2));
  const settings = readSettings(process.env);
  await release(await connect(settings), settings, scope, (line) => process.stdout.write(`${line}\n`));
});
