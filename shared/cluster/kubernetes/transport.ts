import { Agent, type IncomingMessage, request as plainRequest } from "node:http";
import { type RequestOptions, Agent as SecureAgent, request as secureRequest } from "node:https";
import { ClusterError } from "../cluster.ts";
import type { Login } from "./login.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** From the API server's root, with the query. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The ETag of an answer in hand: where it still holds, the response is a 304 without a body. */
  readonly unless?: string;
}

export interface Transport {
  /** Sends one call and gives the response once its head is there. `signal` ends it, its body too. */
  send(call: Call, signal: AbortSignal): Promise<IncomingMessage>;
  /** Forgets the credentials and reads the login anew. */
  renew(): Promise<void>;
}

// Load balancers drop idle connections without a word after a minute or more; a write on such a one would hang.
const KEEP_ALIVE = { keepAlive: true, timeout: 30_000, maxSockets: 32 };

/** @param load gives the login, now and at every renewal */
export async function createTransport(load: () => Promise<Login>): Promise<Transport> {
  let login = await load();
  // TLS is loaded for the first call only.
  let secure: SecureAgent | undefined;
  let plain: Agent | undefined;
  const agentFor = (isSecure: boolean) => {
    if (isSecure) secure ??= new SecureAgent(KEEP_ALIVE);
    else plain ??= new Agent(KEEP_ALIVE);
    return isSecure ? secure : plain;
  };
  return {
    async renew() {
      login = await load();
    },
    async send({ method, path, accept = "application/json", contentType = "application/json", body, unless }, signal) {
      const { server } = login;
      const isSecure = server.protocol === "https:";
      const options = await authenticated(login, signal);
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = {
        ...options.headers,
        accept,
        "user-agent": "capi-caretaker",
        ...(unless !== undefined && { "if-none-match": unless }),
        ...(text !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(text) }),
      };
      const whole = {
        ...options,
        agent: options.agent ?? agentFor(isSecure),
        // An IPv6 address stands in brackets in a URL only.
        host: server.hostname.replace(/^\[|\]$/g, ""),
        port: server.port,
        path: server.pathname.replace(/\/$/, "") + path,
        method,
        headers,
        signal,
      };
      return new Promise((resolve, reject) => {
        const sent = (isSecure ? secureRequest : plainRequest)(whole, resolve);
        sent.on("error", reject);
        sent.end(text);
      });
    },
  };
}

/** May run an exec plugin, which takes its time. */
async function authenticated({ options, source }: Login, signal: AbortSignal): Promise<RequestOptions> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([options(), aborted.promise]);
  } catch (error) {
    if (signal.aborted) throw error;
    // The error may quote what a plugin printed, which is a credential, so it is not passed on.
    throw new ClusterError("unavailable", `no credentials for the API server from ${source}`);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
