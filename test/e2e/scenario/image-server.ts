import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTeardown } from "../harness/teardown.ts";

/** A server of OS images on a loopback port of its own; another port stands for another address. */
export interface ImageServer {
  /** Without a slash at the end. */
  url: string;
  /** Method and path of every request, in order. */
  requests: string[];
  /** Nothing answers at its address any more. */
  stop(): Promise<void>;
}

/** Starts a server on which everything under /images/ is there and has the same length. */
export async function startImageServer(): Promise<ImageServer> {
  const image = Buffer.alloc(4096);
  const requests: string[] = [];
  const server = createServer(({ method = "", url = "" }, response) => {
    requests.push(`${method} ${url}`);
    const isThere = url.startsWith("/images/");
    response.writeHead(isThere ? 200 : 404, { "content-length": isThere ? image.length : 0 });
    response.end(isThere && method !== "HEAD" ? image : undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTeardown("image server", stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, stop };
}
