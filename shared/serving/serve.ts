import { validateHeaderValue } from "node:http";
import type { Context, Handle } from "../acts/context.ts";
import type { CheckCaller } from "../cluster/callers.ts";
import { isLookedAt } from "../cluster/in-namespaces.ts";
import { type Change, readChange } from "../events/change.ts";
import { InputError } from "../setup/input-error.ts";
import { replyTo } from "./reply.ts";

const HOW_TO_CALL = "POST a CloudEvent to /, or GET /health/liveness or /health/readiness\n";
const HEALTH: ReadonlySet<string> = new Set(["/health/liveness", "/health/readiness"]);

/** One HTTP request. */
export interface Asked {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** By lower-case names; several of one name have commas between them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body to its end, undefined when that is longer than `most` bytes. Rejects where the connection is lost. */
  text(most: number): Promise<string | undefined>;
}

/** What to answer. Without a body, none is sent. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Answers every request, and never rejects. */
export type App = (asked: Asked) => Promise<Answer>;

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
export function createApp(name: string, handle: Handle, context: Context, checkCaller?: CheckCaller): App {
  const { log, settings } = context;
  if (settings.callers !== undefined && checkCaller === undefined) throw new Error("nothing checks the callers");

  const refuse = async (authorization: string | undefined): Promise<Answer | undefined> => {
    const refusal = await checkCaller?.(authorization);
    if (refusal === undefined) return undefined;
    const { status, reason, subject } = refusal;
    log.warn({ status, reason, subject }, "caller refused");
    if (status === 403) return plain(403, "this sender may not send events here\n");
    return plain(401, "a valid token is needed\n", { "www-authenticate": "Bearer" });
  };

  const read = (headers: Asked["headers"], body: string): Change | Answer => {
    try {
      return readChange(headers, body);
    } catch (error) {
      // Only reading the event may blame the sender; whatever fails later is ours and worth another try.
      if (!(error instanceof InputError)) throw error;
      log.warn({ reason: error.message }, "event refused");
      return plain(400, `${error.message}\n`);
    }
  };

  const take = async ({ headers, text }: Asked): Promise<Answer> => {
    const refused = await refuse(headers.authorization);
    if (refused !== undefined) return refused;
    const body = await text(settings.maxEventBytes);
    if (body === undefined) {
      const said = `the event is larger than MAX_EVENT_BYTES (${settings.maxEventBytes}); the sweep does its work\n`;
      return plain(413, said);
    }
    const change = read(headers, body);
    if ("status" in change) return change;
    if (change.type === "object" && !isLookedAt(change.object.metadata.namespace ?? "", settings)) {
      return { status: 204 };
    }
    const outcome = await handle(context, change);
    const reply = replyTo(change, outcome, { name, at: context.now(), dryRun: settings.dryRun });
    if (reply === undefined) return { status: 204 };
    for (const [field, value] of Object.entries(reply.headers)) validateHeaderValue(field, value);
    return { status: 200, ...reply };
  };

  return async (asked) => {
    const { method, path } = asked;
    if ((method === "GET" || method === "HEAD") && HEALTH.has(path)) return plain(200, "OK\n");
    if (method !== "POST" || path !== "/") return plain(400, HOW_TO_CALL);
    try {
      return await take(asked);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      log.error({ err: error }, "event failed, to be sent again");
      return plain(503, "not done yet; send it again\n");
    }
  };
}

function plain(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { "content-type": "text/plain; charset=UTF-8", ...headers }, body };
}
