import { connect, connectCallers } from "../../shared/connect.ts";
import type { Handle } from "../../shared/context.ts";
import { startServer } from "../../shared/listen.ts";
import { createLog, type Log } from "../../shared/log.ts";
import { createApp } from "../../shared/serve.ts";
import { readSettings, type Settings } from "../../shared/settings.ts";
import { runProgram } from "../exit.ts";

interface Concern {
  readonly handle: Handle;
  /** What must be in order before anything is served. Throws an InputError where it is not. */
  readonly prepare?: (settings: Settings, log: Log) => Promise<void>;
}

/** Serves one function as the environment says until a signal ends it. */
export async function serve(name: string, concern: Concern): Promise<void> {
  await runProgram(() => start(name, concern));
}

async function start(name: string, { handle, prepare }: Concern): Promise<void> {
  const settings = readSettings(process.env);
  const log = createLog(settings.logLevel, name);
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
