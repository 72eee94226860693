import { type IncomingMessage, request as plainRequest } from "node:http";
import { Agent, request as secureRequest } from "node:https";

/** How to reach an API server: its address and what it and we are trusted by. */
export interface Server {
  /** Such as `https://127.0.0.1:6443`, without a slash at the end. */
  url: string;
  ca?: string;
  cert?: string;
  key?: string;
  token?: string;
}

export interface Call {
  method?: string;
  /** With the query. */
  path: string;
  body?: string;
  contentType?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** An agent that keeps connections and trusts the server's certificate authority. */
export function agentFor(server: Server): Agent {
  const { ca, cert, key } = server;
  // No limit: every watch holds a connection, and one that waits for another's end would wait for ever.
  return new Agent({ keepAlive: true, ...(ca ? { ca } : {}), ...(cert && key ? { cert, key } : {}) });
}

/** Sends one request and gives the response as soon as its headers are there; its body is still to be read. */
export function send(server: Server, agent: Agent, call: Call): Promise<IncomingMessage> {
  const { method = "GET", path, body, contentType = "application/json", headers, signal } = call;
  const url = new URL(server.url + path);
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: {
        accept: "application/json",
        ...(server.token === undefined ? {} : { authorization: `Bearer ${server.token}` }),
        ...(body === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(body) }),
        ...headers,
      },
      ...(signal === undefined ? {} : { signal }),
    };
    const outgoing =
      url.protocol === "https:"
        ? secureRequest(url, { ...options, agent }, resolve)
        : plainRequest(url, options, resolve);
    outgoing.once("error", reject).end(body);
  });
}

/** Reads a response to its end as text. */
export async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

/** Yields the lines of a response as they arrive; ends without an error when the connection breaks or the signal aborts it. */
export async function* linesOf(response: IncomingMessage, signal?: AbortSignal): AsyncGenerator<string> {
  response.setEncoding("utf8");
  let rest = "";
  try {
    for await (const chunk of response) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      yield* lines.filter((line) => line !== "");
    }
  } catch (error) {
    const isBroken = error instanceof Error && "code" in error && error.code === "ECONNRESET";
    if (!isBroken && signal?.aborted !== true) throw error;
  }
}
