import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { stringify } from "yaml";
import type { ControlPlane } from "../harness/control-plane.ts";
import { agentFor, send, textOf } from "../harness/http.ts";
import { readKubeconfig } from "../harness/kubeconfig.ts";
import type { Child } from "../harness/process.ts";
import { runFolder } from "../harness/run-folder.ts";
import { onTeardown } from "../harness/teardown.ts";

export interface Write {
  method: string;
  /** Without the query. */
  path: string;
}

/** Stands between a function and the API server, and can kill the function between any two of its writes. */
export interface KillingProxy {
  /** The same kubeconfig, but through the proxy. */
  kubeconfigOf(kubeconfig: string): string;
  /** What was written since `arm`, in order, the last one included that was answered to nobody any more. */
  writes: Write[];
  /** Begins to count anew, and kills the process once its write of this number (from 1) was carried out. */
  arm(nth: number, victim: Child): void;
  /** Has something done before the first write that matches is passed on. */
  before(isMeant: (write: Write) => boolean, act: () => Promise<unknown>): void;
}

function writeProxyKubeconfig(url: string, kubeconfig: string): string {
  const { token } = readKubeconfig(kubeconfig);
  if (token === undefined) throw new Error("the proxy needs a token to pass on");
  const path = join(runFolder(), `${basename(kubeconfig)}-proxy`);
  const text = stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "proxy",
    contexts: [{ name: "proxy", context: { cluster: "proxy", user: "proxy" } }],
    // A credential over plain http is only right on the loopback interface, and the project asks for this to be said.
    clusters: [{ name: "proxy", cluster: { server: url, "insecure-skip-tls-verify": true } }],
    users: [{ name: "proxy", user: { token } }],
  });
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** Starts the proxy on a free loopback port. It passes the credentials of whoever asks on. */
export async function startKillingProxy({ server }: ControlPlane): Promise<KillingProxy> {
  const agent = agentFor(server);
  const writes: Write[] = [];
  let target: { nth: number; victim: Child } | undefined;
  let hook: { isMeant: (write: Write) => boolean; act: () => Promise<unknown> } | undefined;

  const forward = async (request: IncomingMessage): Promise<IncomingMessage> => {
    const { method = "GET", url: path = "/", headers } = request;
    const body = await textOf(request);
    return send(server, agent, {
      method,
      path,
      headers: { accept: headers.accept ?? "application/json", authorization: headers.authorization ?? "" },
      ...(method === "GET" ? {} : { body, contentType: headers["content-type"] ?? "application/json" }),
    });
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "GET", url = "/" } = request;
    if (method === "GET") {
      const answer = await forward(request);
      response.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] ?? "" });
      answer.pipe(response);
      response.once("close", () => answer.destroy());
      return;
    }
    const write = { method, path: url.split("?")[0] ?? "" };
    if (hook?.isMeant(write) === true) {
      const { act } = hook;
      hook = undefined;
      await act();
    }
    const answer = await forward(request);
    const text = await textOf(answer);
    writes.push(write);
    if (writes.length === target?.nth) {
      target.victim.kill();
      await target.victim.exited;
    }
    response.writeHead(answer.statusCode ?? 502, { "content-type": "application/json" }).end(text);
  };
  const listener = createServer((request, response) => {
    // A victim that is killed breaks its connections; nobody waits for an answer then.
    handle(request, response).catch(() => response.destroy());
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  onTeardown("killing proxy", async () => {
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  });
  const { port } = listener.address() as AddressInfo;
  return {
    kubeconfigOf: (kubeconfig) => writeProxyKubeconfig(`http://127.0.0.1:${port}`, kubeconfig),
    writes,
    arm(nth, victim) {
      writes.length = 0;
      target = { nth, victim };
    },
    before(isMeant, act) {
      hook = { isMeant, act };
    },
  };
}
