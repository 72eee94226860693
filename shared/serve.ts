import { createServer, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { CheckCaller } from "./callers.ts";
import { type Change, readChange } from "./change.ts";
import type { Context, Handle } from "./context.ts";
import { isLookedAt } from "./in-namespaces.ts";
import { InputError } from "./input-error.ts";
import { replyTo } from "./reply.ts";

const HOW_TO_CALL = "POST a CloudEvent to /, or GET /health/liveness or /health/readiness\n";

/**
 * The HTTP contract of one function: 204 handled, 200 with one reply CloudEvent when something was done, 400 and 413
 * for what the Broker must not send again, 401 and 403 for callers that are not let in, 503 for what may be sent again.
 * Never 404 or 409, which the Broker retries (knative/eventing pkg/kncloudevents/retries.go).
 *
 * Throws where the settings name callers and nothing checks them.
 *
 * @param name the function's, for the source of its replies
 * @param checkCaller undefined lets everybody in
 */
export function createApp(name: string, handle: Handle, context: Context, checkCaller?: CheckCaller): Hono {
  const app = new Hono();
  const { log, settings } = context;
  if (settings.callers !== undefined && checkCaller === undefined) throw new Error("nothing checks the callers");
  const limit = bodyLimit({
    maxSize: settings.maxEventBytes,
    onError: (c) =>
      c.text(`the event is larger than MAX_EVENT_BYTES (${settings.maxEventBytes}); the sweep does its work\n`, 413),
  });

  const onlyCallers: MiddlewareHandler = async (c, next) => {
    const refusal = await checkCaller?.(c.req.header("authorization"));
    if (refusal === undefined) return next();
    const { status, reason, subject } = refusal;
    log.warn({ status, reason, subject }, "caller refused");
    if (status === 403) return c.text("this sender may not send events here\n", 403);
    return c.text("a valid token is needed\n", 401, { "www-authenticate": "Bearer" });
  };

  app.post("/", onlyCallers, limit, async (c) => {
    const body = await c.req.text();
    let change: Change;
    try {
      change = readChange(c.req.header(), body);
    } catch (error) {
      // Only reading the event may blame the sender; whatever fails later is ours and worth another try.
      if (!(error instanceof InputError)) throw error;
      log.warn({ reason: error.message }, "event refused");
      return c.text(`${error.message}\n`, 400);
    }
    if (change.type === "object" && !isLookedAt(change.object.metadata.namespace ?? "", settings)) {
      return c.body(null, 204);
    }
    const outcome = await handle(context, change).catch((error: unknown) => {
      // Hono hands only Errors to onError.
      throw error instanceof Error ? error : new Error(String(error));
    });
    const reply = replyTo(change, outcome, { name, at: context.now(), dryRun: settings.dryRun });
    if (reply === undefined) return c.body(null, 204);
    return c.body(reply.body, 200, reply.headers);
  });
  app.get("/health/liveness", (c) => c.text("OK\n"));
  app.get("/health/readiness", (c) => c.text("OK\n"));

  app.notFound((c) => c.text(HOW_TO_CALL, 400));
  app.onError((error, c) => {
    log.error({ err: error }, "event failed, to be sent again");
    return c.text("not done yet; send it again\n", 503);
  });
  return app;
}

export interface Server {
  readonly port: number;
  /** Takes no new connection and resolves once every request under way is answered. */
  close(): Promise<void>;
}

/** Listens on all interfaces. Port 0 takes a free one. Rejects when the port is taken. */
export function startServer(app: Hono, port: number): Promise<Server> {
  const underWay = new Set<ServerResponse>();
  const http = createServer(getRequestListener(app.fetch));
  http.on("request", (_, response) => {
    underWay.add(response);
    response.once("close", () => underWay.delete(response));
  });
  const close = () =>
    new Promise<void>((closed, failed) => {
      http.close((error) => (error === undefined ? closed() : failed(error)));
      http.closeIdleConnections();
      // A connection kept alive after its last answer would hold the process up until its client lets go.
      for (const response of underWay) if (!response.headersSent) response.setHeader("connection", "close");
    });
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, () => {
      const address = http.address();
      resolve({ port: typeof address === "object" && address !== null ? address.port : port, close });
    });
  });
}
