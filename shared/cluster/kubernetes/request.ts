import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { ClusterError } from "../cluster.ts";
import { ApiError } from "./api-error.ts";
import { mayRetry } from "./retry-rules.ts";
import type { Call, Transport } from "./transport.ts";

const ATTEMPTS = 4;
const BACKOFF_MS = 200;
/** A server that asks for longer is left alone; the Broker or the next sweep comes back then. */
const LONGEST_RETRY_AFTER_MS = 10_000;

/**
 * Sends a call and reads a successful answer with `read`; again where `mayRetry` allows it, at most four times within
 * the timeout.
 *
 * Throws a ClusterError for any other answer, and "unavailable" where there is none.
 *
 * @param timeoutMs for everything together, the waits included; 30 s by default
 */
export type Request = <Result>(
  call: Call,
  read: (response: IncomingMessage) => Promise<Result>,
  timeoutMs?: number,
) => Promise<Result>;

/** Passes the time between two attempts; rejects when the signal aborts. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

export function createRequest(transport: Transport, wait: Wait = waitFor): Request {
  return async (call, read, timeoutMs = 30_000) => {
    const signal = AbortSignal.timeout(timeoutMs);
    let isRenewed = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptOnce(transport, call, read, signal);
      } catch (error) {
        if (!isRenewed && error instanceof ApiError && error.status === 401) {
          isRenewed = true;
          await transport.renew();
          continue;
        }
        const pause = pauseAfter(call, error, attempt);
        if (pause === undefined || signal.aborted) throw asClusterError(call, error, signal, timeoutMs);
        // A wait cut short by the timeout shows in the next attempt.
        await wait(pause, signal).catch(() => undefined);
      }
    }
  };
}

async function attemptOnce<Result>(
  transport: Transport,
  call: Call,
  read: (response: IncomingMessage) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  signal.throwIfAborted();
  const response = await transport.send(call, signal);
  const { statusCode = 0, headers } = response;
  const isUnchanged = statusCode === 304 && call.unless !== undefined;
  if (!isUnchanged && (statusCode < 200 || statusCode > 299)) {
    throw new ApiError(call, statusCode, await textOf(response), headers["retry-after"]);
  }
  return read(response);
}

/** Milliseconds to wait before trying again; undefined where that is no use or could do harm. */
function pauseAfter(call: Call, error: unknown, attempt: number): number | undefined {
  if (attempt === ATTEMPTS || !mayRetry(call, error)) return undefined;
  const asked = error instanceof ApiError ? error.retryAfter : undefined;
  if (asked !== undefined) return asked <= LONGEST_RETRY_AFTER_MS ? asked : undefined;
  return BACKOFF_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
}

function asClusterError({ method, path }: Call, error: unknown, signal: AbortSignal, timeoutMs: number): ClusterError {
  if (error instanceof ClusterError) return error;
  const [plainPath] = path.split("?", 1);
  const reason = error instanceof Error ? error.message : String(error);
  const what = signal.aborted ? `no answer within ${timeoutMs / 1000} s` : reason;
  return new ClusterError("unavailable", `${method} ${plainPath}: ${what}`, { cause: error });
}

/** Reads a body to its end. Rejects when the connection is lost before that. */
export async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

/** Reads a body as JSON. Throws ClusterError "unavailable" for what is none, such as a proxy's page. */
export async function jsonOf(response: IncomingMessage): Promise<unknown> {
  const text = await textOf(response);
  return jsonIn((): unknown => JSON.parse(text));
}

/** What `read` makes of a body; ClusterError "unavailable" where that body is no JSON. */
export function jsonIn<Result>(read: () => Result): Result {
  try {
    return read();
  } catch {
    throw new ClusterError("unavailable", "the API server's answer is not JSON; is something in between?");
  }
}

async function waitFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal });
}
