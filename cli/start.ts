import { connect, connectCallers } from "../shared/connect.ts";
import type { Handle } from "../shared/context.ts";
import { InputError } from "../shared/input-error.ts";
import { startServer } from "../shared/listen.ts";
import { createLog, type Log } from "../shared/log.ts";
import { createApp } from "../shared/serve.ts";
import { readSettings, type Settings } from "../shared/settings.ts";
import { runProgram } from "./exit.ts";

interface Concern {
  readonly handle: Handle;
  /** What must be in order before anything is served. Throws an InputError where it is not. */
  readonly prepare?: (settings: Settings, log: Log) => Promise<void>;
}

/** Every function by its name on the command line; only the one that is served is loaded. */
const FUNCTIONS: Readonly<Record<string, () => Promise<Concern>>> = {
  "retain-templates": () => import("../functions/retain-templates/index.ts"),
  "collect-templates": () => import("../functions/collect-templates/index.ts"),
  "rewrite-urls": () => import("../functions/rewrite-urls/index.ts"),
  "label-machines": () => import("../functions/label-machines/index.ts"),
};

async function main(name = ""): Promise<void> {
  const load = FUNCTIONS[name];
  if (load === undefined) {
    throw new InputError(`no function ${JSON.stringify(name)}; name one of ${Object.keys(FUNCTIONS).join(", ")}`);
  }
  const settings = readSettings(process.env);
  const log = createLog(settings.logLevel, name);
  const { handle, prepare } = await load();
  await prepare?.(settings, log);
  const now = () => Temporal.Now.instant();
  const checkCaller = await connectCallers(settings, now);
  const context = { cluster: await connect(settings), settings, log, now };
  const server = await startServer(createApp(name, handle, context, checkCaller), settings.port);
  log.info({ port: server.port, dryRun: settings.dryRun }, "serving");
  const drain = async () => {
    log.info("draining");
    await server.close();
  };
  process.once("SIGTERM", drain);
  process.once("SIGINT", drain);
}

await runProgram(() => main(process.argv[2]));
