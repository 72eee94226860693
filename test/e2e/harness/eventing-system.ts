import type { Api } from "./api-types.ts";
import { installCrds, knativeCrds } from "./crds.ts";
import type { Fields, KubeObject } from "./objects.ts";

/** Where Knative eventing lives. */
export const eventingNamespace = "knative-eventing";

const installedKinds = new Set([
  ...["Broker", "Trigger", "EventType", "EventPolicy"].map((kind) => `${kind}.eventing.knative.dev`),
  ...["Channel", "InMemoryChannel", "Subscription"].map((kind) => `${kind}.messaging.knative.dev`),
  ...["ApiServerSource", "PingSource"].map((kind) => `${kind}.sources.knative.dev`),
  "Service.serving.knative.dev",
]);

const configMaps: Readonly<Record<string, Record<string, string>>> = {
  "config-logging": {},
  "config-observability": {},
  // These two as Knative ships them.
  "config-imc-event-dispatcher": { MaxIdleConnections: "1000", MaxIdleConnectionsPerHost: "100" },
  "config-br-default-channel": {
    "channel-template-spec": "apiVersion: messaging.knative.dev/v1\nkind: InMemoryChannel\n",
  },
};

const named = (name: string) => ({ name, namespace: eventingNamespace });

/** Tells a Deployment's owner that its pod runs. No controller of Deployments is here, and no kubelet. */
export async function markAvailable(api: Api, deployment: KubeObject): Promise<void> {
  const { apiVersion, kind, metadata } = deployment;
  const { name, namespace = "" } = metadata;
  const condition = { type: "Available", status: "True", reason: "MinimumReplicasAvailable", message: "" };
  await api.patchStatus(
    { apiVersion, kind, namespace, name },
    { replicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [condition] },
  );
}

/** The Endpoints of a Service, with an address that nobody uses: the API server refuses loopback ones. */
function endpoints(name: string): KubeObject {
  const subsets = [{ addresses: [{ ip: "10.0.0.10" }], ports: [{ port: 80 }] }];
  return { apiVersion: "v1", kind: "Endpoints", metadata: named(name), subsets };
}

function dispatcherDeployment(): KubeObject {
  const labels = { app: "imc-dispatcher" };
  const spec: Fields = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "dispatcher", image: "none" }] } },
  };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: named("imc-dispatcher"), spec };
}

/**
 * Installs Knative's kinds and what its controllers look for in its own namespace. Its programs are not started.
 *
 * @param features the content of Knative's ConfigMap config-features
 */
export async function installEventing(api: Api, features: Record<string, string> = {}): Promise<void> {
  const crds = knativeCrds().filter(({ spec }) => installedKinds.has(`${spec.names.kind}.${spec.group}`));
  await installCrds(api, crds);
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: eventingNamespace } });
  for (const [name, data] of Object.entries({ ...configMaps, "config-features": features })) {
    await api.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: named(name), data });
  }
  // The Broker's ingress sends as this one where senders have identities.
  await api.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: named("mt-broker-ingress-oidc") });
  for (const name of ["imc-dispatcher", "broker-ingress", "broker-filter"]) {
    const spec = { ports: [{ port: 80 }] };
    await api.apply({ apiVersion: "v1", kind: "Service", metadata: named(name), spec });
    await api.apply(endpoints(name));
  }
  await markAvailable(api, await api.apply(dispatcherDeployment()));
}
