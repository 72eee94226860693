import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTeardown } from "./teardown.ts";

/** A way to a server on the loopback that can be cut. */
export interface Tunnel {
  /** As the server's own, with another port; its certificate holds for both. */
  url: string;
  /** Breaks every connection and takes no new one until `mend`. */
  cut(): void;
  mend(): void;
}

/** Starts a tunnel to an address such as `https://127.0.0.1:6443`. It ends at teardown. */
export async function startTunnel(target: string): Promise<Tunnel> {
  const { protocol, hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      // Either end may go at any time, and then so does the other.
      one
        .on("error", () => {})
        .once("close", () => {
          sockets.delete(one);
          other.destroy();
        });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTeardown("tunnel", async () => {
    breakAll();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      breakAll();
    },
    mend() {
      isCut = false;
    },
  };
}
