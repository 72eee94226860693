import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Answer, App, Asked } from "./serve.ts";

/** How long a sender may go on with a body that was answered before its end. */
const LEFTOVER_MS = 500;

export interface Server {
  readonly port: number;
  /** Takes no new connection and resolves once every request under way is answered. */
  close(): Promise<void>;
}

/**
 * Listens on all interfaces. Port 0 takes a free one. Rejects when the port is taken.
 *
 * It is Node's server itself: the classes of `fetch`, which a framework is made of, take a third of a start to load.
 */
export function startServer(app: App, port: number): Promise<Server> {
  const underWay = new Set<ServerResponse>();
  const http = createServer(async (request, response) => {
    underWay.add(response);
    response.once("close", () => underWay.delete(response));
    send(response, await app(askedBy(request)));
    // The rest of a body that is too long is not waited for.
    if (!request.complete) setTimeout(() => request.destroy(), LEFTOVER_MS).unref();
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

function askedBy(request: IncomingMessage): Asked {
  const { method = "", url = "", rawHeaders } = request;
  // A target may be a whole URL (RFC 9112, section 3.2.2).
  const [path = ""] = url.replace(/^https?:\/\/[^/?]*/i, "").split("?", 1);
  const headers = joined(rawHeaders);
  return { method, path: path === "" ? "/" : path, headers, text: (most) => textOf(request, headers, most) };
}

/** Node keeps the first of several headers of one name where the standard has one; who sends two is to be seen here. */
function joined(raw: readonly string[]): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = "", value = ""] = [raw[at]?.toLowerCase(), raw[at + 1]];
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}

function textOf(request: IncomingMessage, headers: Asked["headers"], most: number): Promise<string | undefined> {
  if (Number(headers["content-length"]) > most) return Promise.resolve(undefined);
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= most) return void chunks.push(chunk);
      chunks.length = 0;
      resolve(undefined);
    });
    request.once("end", () => resolve(new TextDecoder().decode(Buffer.concat(chunks))));
    request.once("error", reject);
    request.once("close", () => reject(new Error("the connection was lost before the end of the body")));
  });
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (body === undefined) return void response.end();
  response.setHeader("content-length", Buffer.byteLength(body));
  response.end(body);
}
