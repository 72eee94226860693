import { ApiError } from "./api-error.ts";
import type { Call } from "./transport.ts";

/** Errors of a connection that was never there: nothing was sent. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"]);
/** Errors of a connection that broke: whether the call was carried out is unknown. */
const LOST: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENETUNREACH",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/**
 * Whether sending this call again can do no harm and may help. A read always can; a write only where the server
 * certainly did nothing: it was never reached, or it turned the call away before looking at it (429, API priority and
 * fairness).
 */
export function mayRetry({ method }: Call, error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || (method === "GET" && error.status >= 500);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return NEVER_CONNECTED.has(code) || (method === "GET" && LOST.has(code));
}
