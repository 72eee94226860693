import { Agent, type IncomingMessage, request as plainRequest } from "node:http";
import { type RequestOptions, Agent as SecureAgent, request as secureRequest } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { ClusterError } from "../cluster.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** From the API server's root, with the query. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface Transport {
  /** Sends one call and gives the response once its head is there. `signal` ends it, its body too. */
  send(call: Call, signal: AbortSignal): Promise<IncomingMessage>;
  /** Forgets the credentials and reads the configuration anew. */
  renew(): void;
}

// Load balancers drop idle connections without a word after a minute or more; a write on such a one would hang.
const KEEP_ALIVE = { keepAlive: true, timeout: 30_000, maxSockets: 32 };

/** @param load gives the configuration, now and at every renewal */
export function createTransport(load: () => KubeConfig): Transport {
  let config = load();
  const agents = { plain: new Agent(KEEP_ALIVE), secure: new SecureAgent(KEEP_ALIVE) };
  return {
    renew() {
      config = load();
    },
    async send({ method, path, accept = "application/json", contentType = "application/json", body }, signal) {
      const cluster = config.getCurrentCluster();
      const url = new URL(cluster?.server ?? "");
      const isSecure = url.protocol === "https:";
      const options = await authenticated(config, signal);
      // The client library's own agents keep no connection alive, but they know how to go through a proxy.
      if (!cluster?.proxyUrl) options.agent = isSecure ? agents.secure : agents.plain;
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = {
        ...options.headers,
        accept,
        "user-agent": "capi-caretaker",
        ...(text !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(text) }),
      };
      const target = { host: hostOf(url), port: url.port, path: url.pathname.replace(/\/$/, "") + path };
      return new Promise((resolve, reject) => {
        const request = isSecure ? secureRequest : plainRequest;
        const sent = request({ ...options, ...target, method, headers, signal }, resolve);
        sent.on("error", reject);
        sent.end(text);
      });
    },
  };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** Runs an exec plugin where the kubeconfig has one and no fresh credential of it is at hand. */
async function authenticated(config: KubeConfig, signal: AbortSignal): Promise<RequestOptions> {
  const options: RequestOptions = {};
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([config.applyToHTTPSOptions(options), aborted.promise]);
    return options;
  } catch (error) {
    if (signal.aborted) throw error;
    // The error may quote what the plugin printed, which is a credential, so it is not passed on.
    const plugin = config.getCurrentUser()?.exec?.command as string | undefined;
    const culprit = plugin === undefined ? "the kubeconfig's files" : `the exec plugin ${plugin}`;
    throw new ClusterError("unavailable", `no credentials for the API server from ${culprit}`);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
