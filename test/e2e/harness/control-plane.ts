import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { apiOf } from "./api.ts";
import { type ApiServerOptions, apiServerFlags, sourceUser, startApiServer } from "./api-server.ts";
import type { Api } from "./api-types.ts";
import { startEtcd } from "./etcd.ts";
import type { Server } from "./http.ts";
import { readKubeconfig, writeKubeconfig } from "./kubeconfig.ts";
import { binary } from "./paths.ts";
import { freePort } from "./ports.ts";
import { type Child, startProcess } from "./process.ts";
import { assertNoRefusals } from "./refusals.ts";
import { runFolder } from "./run-folder.ts";
import { onTeardown } from "./teardown.ts";

export interface ControlPlaneOptions extends ApiServerOptions {
  /** Part of its folder and log names; must differ between two control planes of one test file. "main" by default. */
  name?: string;
  /** Garbage collection by owner, deletion of namespaces, service accounts, rules added to roles by label; on by default. */
  controllerManager?: boolean;
  /** Folder with the data of a stopped etcd to begin with. */
  seed?: string;
}

/** The processes of a control plane; a cluster given by E2E_KUBECONFIG has none here. */
export interface OwnParts {
  etcd: Child;
  /** Where etcd takes plain HTTP, its JSON gateway too. */
  etcdUrl: string;
  /** The one that runs now; `restartApiServer` replaces it. */
  apiServer: Child;
  controllerManager: Child | undefined;
  /** A kubeconfig for the event source alone. */
  sourceKubeconfig: string;
  auditLog: string;
  /** Starts kube-apiserver again on the same port and data, once the former one was stopped or killed. */
  restartApiServer(): Promise<void>;
}

export interface ControlPlane {
  name: string;
  url: string;
  server: Server;
  /** As a cluster administrator. */
  api: Api;
  /** Path of a cluster administrator's kubeconfig. */
  kubeconfig: string;
  /** The folder of its files. With `own`: apiserver.crt (its authority), tls.crt and tls.key for 127.0.0.1. */
  folder: string;
  own: OwnParts | undefined;
  /** Ends its processes; its data are lost. */
  stop(): Promise<void>;
}

const controllers = ["garbage-collector", "namespace", "serviceaccount", "clusterrole-aggregation"].map(
  (name) => `${name}-controller`,
);

async function startControllerManager(name: string, kubeconfig: string, folder: string): Promise<Child> {
  return startProcess({
    name: `${name}-controller-manager`,
    command: binary("kube-controller-manager"),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join(",")}`,
      "--leader-elect=false",
      "--bind-address=127.0.0.1",
      `--secure-port=${await freePort()}`,
      `--cert-dir=${join(folder, "controller-manager")}`,
    ],
  });
}

function givenControlPlane(kubeconfig: string): ControlPlane {
  const server = readKubeconfig(kubeconfig);
  const folder = runFolder("given");
  const rest = { folder, own: undefined, stop: async () => {} };
  return { name: "given", url: server.url, server, api: apiOf(server), kubeconfig, ...rest };
}

/**
 * Starts etcd, kube-apiserver and, unless told not to, kube-controller-manager on free loopback ports, and waits until the API
 * is ready. Its teardown fails where a service account was refused what `allowRefusal` does not name. With E2E_KUBECONFIG set it gives that cluster instead, without `own`.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const given = process.env.E2E_KUBECONFIG;
  if (given !== undefined && given !== "") return givenControlPlane(given);
  const { name = "main", controllerManager: hasControllerManager = true } = options;
  const folder = runFolder(name);
  const auditLog = join(folder, "audit.log");
  onTeardown(`${name} rights`, () => assertNoRefusals(auditLog));
  const { etcd, url: etcdUrl } = await startEtcd(name, folder, options.seed);
  const [port, token, sourceToken] = [await freePort(), randomUUID(), randomUUID()];
  const url = `https://127.0.0.1:${port}`;
  const flags = apiServerFlags(
    { folder, etcdUrl, port, tokens: { "e2e-admin": token, [sourceUser]: sourceToken } },
    options,
  );
  const start = () => startApiServer(name, folder, flags, { url, token });
  const { child, server } = await start();
  const kubeconfig = writeKubeconfig(join(folder, "kubeconfig"), server);
  const own: OwnParts = {
    etcd,
    etcdUrl,
    apiServer: child,
    controllerManager: hasControllerManager ? await startControllerManager(name, kubeconfig, folder) : undefined,
    sourceKubeconfig: writeKubeconfig(join(folder, "source-kubeconfig"), { ...server, token: sourceToken }),
    auditLog,
    async restartApiServer() {
      own.apiServer = (await start()).child;
    },
  };
  return {
    name,
    url,
    server,
    api: apiOf(server),
    kubeconfig,
    folder,
    own,
    async stop() {
      await own.controllerManager?.stop(2000);
      // An API server that has lost its etcd takes long to end.
      await own.apiServer.stop(5000);
      await etcd.stop(2000);
    },
  };
}
