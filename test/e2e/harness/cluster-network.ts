import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { onTeardown } from "./teardown.ts";

/** One request that passed, without its body. */
export interface Passage {
  host: string;
  path: string;
  /** CloudEvent attributes of the request, by name; empty where it is no event in binary mode. */
  event: Record<string, string>;
  status: number;
  /** The `type` of the event in the answer; undefined where the answer is none. */
  reply: string | undefined;
}

/**
 * Stands where a cluster's DNS, Services and Knative Serving's activator are: a plain HTTP proxy that Go's programs use by
 * HTTP_PROXY, and that knows where each cluster-internal name leads. Go asks no proxy for loopback addresses.
 */
export interface ClusterNetwork {
  /** For the environment of whatever is to see the cluster's names. */
  env: Record<string, string>;
  /** Every request that was answered, in the order of the answers. */
  passages: Passage[];
  /**
   * Leads a host name to an address such as `http://127.0.0.1:8080`; undefined when nothing runs there. `*-kn-channel` are the
   * Services of all channels.
   */
  route(host: string, address: string | undefined): void;
  /** Posts through the network, as a pod would. Resolves with the status. */
  post(url: string, headers: Record<string, string>, body: string): Promise<number>;
}

function attributesOf(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => name.startsWith("ce-"));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(3), String(value)]));
}

/** Starts the network on a free loopback port. It ends at teardown. */
export async function startClusterNetwork(): Promise<ClusterNetwork> {
  const routes = new Map<string, string | undefined>();
  const passages: Passage[] = [];
  const find = (host: string): string | undefined => {
    const [label = ""] = host.split(".");
    return routes.get(host) ?? routes.get(label.replace(/^.*(-kn-channel)$/, "*$1"));
  };
  const proxy = createServer((incoming, outgoing) => {
    const { hostname: host, pathname, search } = new URL(incoming.url ?? "/", `http://${incoming.headers.host}`);
    const path = pathname + search;
    const record = (status: number, reply?: string): void => {
      passages.push({ host, path, event: attributesOf(incoming.headers), status, reply });
    };
    const address = find(host);
    const refuse = (): void => {
      if (outgoing.headersSent) return void outgoing.destroy();
      // As the activator answers for a revision without a pod, and a Service without endpoints is no better.
      record(503);
      outgoing.writeHead(503).end();
    };
    if (address === undefined) return void incoming.resume().once("end", refuse);
    const { method = "GET", headers } = incoming;
    const { hostname, port } = new URL(address);
    // The Host stays: the channel dispatcher knows its channels by it.
    const onward = send({ hostname, port, method, path, headers }, (answer) => {
      const reply = answer.headers["ce-type"];
      record(answer.statusCode ?? 502, typeof reply === "string" ? reply : undefined);
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.once("error", () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    onward.once("error", refuse);
    outgoing.once("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTeardown("cluster network", async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
  const { port } = proxy.address() as AddressInfo;
  return {
    env: { HTTP_PROXY: `http://127.0.0.1:${port}` },
    passages,
    route: (host, address) => void routes.set(host, address),
    async post(url, headers, body) {
      const { host } = new URL(url);
      const all = { ...headers, host, "content-length": Buffer.byteLength(body) };
      const outgoing = send({ hostname: "127.0.0.1", port, method: "POST", path: url, headers: all });
      const answered = once(outgoing, "response");
      outgoing.end(body);
      const [answer] = await answered;
      answer.resume();
      return answer.statusCode ?? 0;
    },
  };
}
