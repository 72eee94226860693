import type { Handle } from "../../shared/acts/context.ts";
import { connect, connectCallers } from "../../shared/cluster/connect.ts";
import { startServer } from "../../shared/serving/listen.ts";
import { type App, createApp } from "../../shared/serving/serve.ts";
import { createLog, type Log } from "../../shared/setup/log.ts";
import { readSettings, type Settings } from "../../shared/setup/settings.ts";
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
  const probed = Promise.withResolvers<void>();
  const context = { cluster: await connect(settings, probed.promise), settings, log, now };
  const app = createApp(name, handle, context, checkCaller);
  const answer: App = async (asked) => {
    // Knative asks for the readiness before it lets the first event through: time enough to connect.
    if (asked.method === "GET") setImmediate(probed.resolve);
    return app(asked);
  };
  const server = await startServer(answer, settings.port);
  log.info({ port: server.port, dryRun: settings.dryRun }, "serving");
  const drain = async () => {
    log.info("draining");
    await server.close();
  };
  process.once("SIGTERM", drain);
  process.once("SIGINT", drain);
}
