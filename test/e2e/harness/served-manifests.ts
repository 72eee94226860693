import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClusterNetwork } from "./cluster-network.ts";
import type { ControlPlane } from "./control-plane.ts";
import { type ServedFunction, startFunction } from "./functions.ts";
import { type KubeObject, refOf, valueAt } from "./objects.ts";
import { runFolder } from "./run-folder.ts";
import { type Account, kubeconfigFor } from "./service-account.ts";
import { startTunnel, type Tunnel } from "./tunnel.ts";

/** A Knative Service of the manifests, served by a process in place of its pod. */
export interface Served {
  name: string;
  /** Its name inside the cluster, by which `network.passages` knows it. */
  host: string;
  /** Between it and the API server. */
  apiServer: Tunnel;
  /** Kills its process: what is sent to it is answered with 503. */
  kill(): Promise<void>;
  /** Starts it anew after `kill`. */
  start(): Promise<void>;
}

interface Container {
  args: [string];
  env?: { name: string; value: string }[];
  volumeMounts?: { name: string; mountPath: string }[];
}

/** Writes the ConfigMaps that a pod mounts and gives each mount path's folder. */
async function mounted({ api }: ControlPlane, service: KubeObject, container: Container): Promise<Map<string, string>> {
  const { name, namespace = "" } = service.metadata;
  const volumes = (valueAt(service, "spec", "template", "spec", "volumes") ?? []) as KubeObject[];
  const folders = new Map<string, string>();
  for (const { name: volume, mountPath } of container.volumeMounts ?? []) {
    const source = volumes.find((one) => one.name === volume);
    const configMap = String(valueAt(source, "configMap", "name"));
    const object = await api.get({ apiVersion: "v1", kind: "ConfigMap", namespace, name: configMap });
    const folder = runFolder(`${name}-${volume}`);
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries((object?.data ?? {}) as Record<string, string>)) {
      writeFileSync(join(folder, file), text);
    }
    folders.set(mountPath, folder);
  }
  return folders;
}

/** Starts what a Knative Service of the manifests describes, as its service account, and gives it the address that Serving would. */
export async function serve(
  controlPlane: ControlPlane,
  network: ClusterNetwork,
  service: KubeObject,
  settings: Record<string, string>,
): Promise<Served> {
  const { name, namespace = "" } = service.metadata;
  const spec = valueAt(service, "spec", "template", "spec");
  const container = valueAt(spec, "containers", 0) as Container;
  const host = `${name}.${namespace}.svc.cluster.local`;
  const apiServer = await startTunnel(controlPlane.server.url);
  const account: Account = { namespace, name: String(valueAt(spec, "serviceAccountName")) };
  const throughTunnel = { ...controlPlane, server: { ...controlPlane.server, url: apiServer.url } };
  const kubeconfig = await kubeconfigFor(throughTunnel, account);
  const folders = await mounted(controlPlane, service, container);
  const inPod = (value: string): string => {
    const [path, folder] = [...folders].find(([mountPath]) => value.startsWith(`${mountPath}/`)) ?? [];
    return path === undefined || folder === undefined ? value : folder + value.slice(path.length);
  };
  const env = Object.fromEntries((container.env ?? []).map((one) => [one.name, inPod(one.value)]));
  let process: ServedFunction;
  const start = async (): Promise<void> => {
    process = await startFunction(container.args[0], controlPlane, { env: { ...env, ...settings }, kubeconfig });
    network.route(host, process.url);
  };
  await start();
  await controlPlane.api.patchStatus(refOf(service), {
    observedGeneration: service.metadata.generation,
    url: `http://${host}`,
    address: { url: `http://${host}` },
    conditions: [{ type: "Ready", status: "True" }],
  });
  return {
    name,
    host,
    apiServer,
    start,
    async kill() {
      network.route(host, undefined);
      process.kill();
      await process.exited;
    },
  };
}
