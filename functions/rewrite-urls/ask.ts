import { request as requestHttp } from "node:http";
import { Agent, request as requestHttps } from "node:https";
import { getCACertificates } from "node:tls";
import { hostOf } from "./url.ts";

/** What a server said about a URL without sending it. */
export type Answer =
  | { readonly state: "there"; readonly length: number | undefined }
  | { readonly state: "refused"; readonly reason: string }
  /** Nothing answered at all. */
  | { readonly state: "silent"; readonly reason: string };

interface Head {
  readonly status: number;
  readonly length: number | undefined;
  readonly location: string | undefined;
}

const MOST_REDIRECTS = 5;
const HEAD_NOT_ALLOWED: ReadonlySet<number> = new Set([405, 501]);

/**
 * Asks whether a URL is there: HEAD, or a GET of its first byte where HEAD is not allowed. No body is read and no user
 * info is sent. Redirects are followed only within the URL's own host. Never throws.
 *
 * @param timeout milliseconds for each request
 */
export async function ask(url: string, timeout: number): Promise<Answer> {
  const home = hostOf(url);
  let at = withoutUserInfo(url);
  try {
    for (let left = MOST_REDIRECTS; left >= 0; left -= 1) {
      const head = await headOf(at, timeout);
      if (head.status >= 200 && head.status < 300) return { state: "there", length: head.length };
      const isRedirect = head.status >= 300 && head.status < 400 && head.location !== undefined;
      const next = isRedirect ? URL.parse(head.location ?? "", at) : null;
      if (next === null) return { state: "refused", reason: `answers ${head.status}` };
      if (hostOf(next.href) !== home) return { state: "refused", reason: `redirects to another host, ${next.host}` };
      at = withoutUserInfo(next.href);
    }
    return { state: "refused", reason: "redirects without end" };
  } catch (error) {
    return { state: "silent", reason: reasonOf(error) };
  }
}

async function headOf(url: string, timeout: number): Promise<Head> {
  const head = await send("HEAD", url, timeout);
  return HEAD_NOT_ALLOWED.has(head.status) ? send("GET", url, timeout) : head;
}

function send(method: "HEAD" | "GET", url: string, timeout: number): Promise<Head> {
  const isSecure = /^https:/i.test(url);
  const headers = { "accept-encoding": "identity", ...(method === "GET" && { range: "bytes=0-0" }) };
  const options = { method, headers, agent: false, signal: AbortSignal.timeout(timeout) } as const;
  return new Promise((resolve, reject) => {
    const sent = isSecure ? requestHttps(url, { ...options, agent: secureAgent() }) : requestHttp(url, options);
    sent.once("error", reject);
    sent.once("response", (response) => {
      const { "content-length": length, "content-range": range, location } = response.headers;
      const whole = response.statusCode === 206 ? range?.split("/").at(-1) : length;
      resolve({ status: response.statusCode ?? 0, length: numberIn(whole), location });
      // An image has gigabytes; the connection ends here, whatever the server is about to send.
      response.destroy();
    });
    sent.end();
  });
}

let agent: Agent | undefined;

/** Trusts the system's roots and those of NODE_EXTRA_CA_CERTS; Node's own bundle only where the system has none. */
function secureAgent(): Agent {
  if (agent !== undefined) return agent;
  const system = getCACertificates("system");
  const roots = system.length > 0 ? system : getCACertificates("default");
  // A connection that ends after its headers cannot be kept.
  agent = new Agent({ keepAlive: false, ca: [...roots, ...getCACertificates("extra")] });
  return agent;
}

function withoutUserInfo(url: string): string {
  const plain = new URL(url);
  plain.username = "";
  plain.password = "";
  plain.hash = "";
  return plain.href;
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

// The system's name for the failure says enough; its message would repeat addresses and, with TLS, whole certificates.
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError" || error.name === "AbortError") return "no answer in time";
  const code = "code" in error ? String(error.code) : "";
  return code === "ABORT_ERR" ? "no answer in time" : code || error.message;
}
