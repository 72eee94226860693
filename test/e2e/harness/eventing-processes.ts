import { join } from "node:path";
import type { ClusterNetwork } from "./cluster-network.ts";
import type { ControlPlane } from "./control-plane.ts";
import { eventingNamespace } from "./eventing-system.ts";
import { binary } from "./paths.ts";
import { freePorts } from "./ports.ts";
import { type Child, startProcess, untilReady } from "./process.ts";

/** The channel dispatcher's port is fixed in its source. */
const dispatcherUrl = "http://127.0.0.1:8080";

export interface Dispatcher {
  /** Kills it with every event it has in memory. */
  kill(): Promise<void>;
  /** Starts it again and waits until it serves every channel. */
  start(): Promise<void>;
}

/** Waits until a server of Knative's says that it is ready. It says so only to a kubelet, and events get another answer. */
function untilServing(child: Child, url: string): Promise<void> {
  const headers = { "user-agent": "kube-probe/1.36" };
  return untilReady(child, () => fetch(`${url}/healthz`, { headers }).then(({ ok }) => ok));
}

async function startPart(
  controlPlane: ControlPlane,
  network: ClusterNetwork,
  { name, args = [], env = {} }: { name: string; args?: readonly string[]; env?: Record<string, string> },
): Promise<Child> {
  const [profilingPort] = await freePorts(1);
  return startProcess({
    name: `${controlPlane.name}-${name}`,
    command: binary(name),
    args,
    env: {
      KUBECONFIG: controlPlane.kubeconfig,
      SYSTEM_NAMESPACE: eventingNamespace,
      POD_NAME: name,
      CONTAINER_NAME: name,
      PROFILING_PORT: String(profilingPort),
      // Where senders have identities it asks the API server for its keys as any client of HTTPS would.
      SSL_CERT_FILE: join(controlPlane.folder, "apiserver.crt"),
      ...network.env,
      ...env,
    },
  });
}

/** Starts the in-memory channel's dispatcher. Only one can run on a loopback, since its ports are fixed. */
export async function startDispatcher(controlPlane: ControlPlane, network: ClusterNetwork): Promise<Dispatcher> {
  const env = { MAX_IDLE_CONNS: "1000", MAX_IDLE_CONNS_PER_HOST: "100" };
  let child: Child;
  const start = async (): Promise<void> => {
    child = await startPart(controlPlane, network, { name: "channel-dispatcher", args: ["-disable-ha"], env });
    await untilServing(child, dispatcherUrl);
    network.route("*-kn-channel", dispatcherUrl);
  };
  await start();
  return {
    start,
    async kill() {
      child.kill();
      await child.exited;
    },
  };
}

/** Starts the Broker's ingress and filter, and Knative's own controllers. The dispatcher must run by then. */
export async function startEventing(controlPlane: ControlPlane, network: ClusterNetwork): Promise<void> {
  const [ingress, ingressTls, filter, filterTls] = await freePorts(4);
  const ingressChild = await startPart(controlPlane, network, {
    name: "broker-ingress",
    env: { INGRESS_PORT: String(ingress), INGRESS_PORT_HTTPS: String(ingressTls) },
  });
  const filterChild = await startPart(controlPlane, network, {
    name: "broker-filter",
    env: { NAMESPACE: eventingNamespace, FILTER_PORT: String(filter), FILTER_PORT_HTTPS: String(filterTls) },
  });
  await untilServing(ingressChild, `http://127.0.0.1:${ingress}`);
  await untilServing(filterChild, `http://127.0.0.1:${filter}`);
  network.route(`broker-ingress.${eventingNamespace}.svc.cluster.local`, `http://127.0.0.1:${ingress}`);
  network.route(`broker-filter.${eventingNamespace}.svc.cluster.local`, `http://127.0.0.1:${filter}`);
  await startPart(controlPlane, network, {
    name: "eventing",
    // A look at every right of every source in every namespace would take minutes at the default rate.
    args: ["controllers", "-disable-ha", "-kube-api-qps=500", "-kube-api-burst=1000"],
    env: { DISPATCHER_IMAGE: "none", APISERVER_RA_IMAGE: "none" },
  });
}
