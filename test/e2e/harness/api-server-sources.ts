import { type Resource, untilWatched } from "./adapter.ts";
import type { ClusterNetwork } from "./cluster-network.ts";
import type { ControlPlane } from "./control-plane.ts";
import { markAvailable } from "./eventing-system.ts";
import { type KubeObject, valueAt } from "./objects.ts";
import { binary } from "./paths.ts";
import { startProcess } from "./process.ts";
import { type Account, kubeconfigFor, userOf } from "./service-account.ts";
import { eventually } from "./wait.ts";

const adapters = "eventing.knative.dev/source=apiserver-source-controller";

/** The environment that the source's controller wrote into the Deployment, and what the kubelet would add to it. */
function environmentOf(deployment: KubeObject): Record<string, string> {
  const env = valueAt(deployment, "spec", "template", "spec", "containers", 0, "env") as {
    name: string;
    value?: string;
    valueFrom?: object;
  }[];
  const { namespace = "" } = deployment.metadata;
  return Object.fromEntries(env.map(({ name, value = "", valueFrom }) => [name, valueFrom ? namespace : value]));
}

/** Starts a Deployment's adapter as its service account and waits until all its watches are up. */
async function startSource(controlPlane: ControlPlane, network: ClusterNetwork, deployment: KubeObject): Promise<void> {
  const { namespace = "" } = deployment.metadata;
  const env = environmentOf(deployment);
  const name = `source-${env.NAME}`;
  const as: Account = {
    namespace,
    name: String(valueAt(deployment, "spec", "template", "spec", "serviceAccountName")),
  };
  const kubeconfig = await kubeconfigFor(controlPlane, as);
  const since = new Date();
  const child = await startProcess({
    name: `${controlPlane.name}-${name}`,
    command: binary("apiserver-receive-adapter"),
    env: { ...env, ...network.env, KUBECONFIG: kubeconfig },
  });
  const { resources } = JSON.parse(env.K_SOURCE_CONFIG ?? "") as { resources: { gvr: Resource }[] };
  await untilWatched(controlPlane, child, { user: userOf(as), since, resources: resources.map(({ gvr }) => gvr) });
  await markAvailable(controlPlane.api, deployment);
}

/** Waits for the Deployment that Knative's controller writes for each ApiServerSource, and starts what it describes. */
export async function startSources(
  controlPlane: ControlPlane,
  network: ClusterNetwork,
  sources: readonly KubeObject[],
): Promise<void> {
  const deployments = await eventually("the Deployments of the sources", async () => {
    const selection = { apiVersion: "apps/v1", kind: "Deployment", labelSelector: adapters };
    const found = await controlPlane.api.list(selection);
    return found.length === sources.length ? found : undefined;
  });
  for (const deployment of deployments) await startSource(controlPlane, network, deployment);
}
