import { startSources } from "./api-server-sources.ts";
import type { Api } from "./api-types.ts";
import { type ClusterNetwork, startClusterNetwork } from "./cluster-network.ts";
import type { ControlPlane } from "./control-plane.ts";
import { admitted } from "./eventing-admission.ts";
import { type Dispatcher, startDispatcher, startEventing } from "./eventing-processes.ts";
import { installEventing } from "./eventing-system.ts";
import { kustomized } from "./kustomize.ts";
import { conditionOf, groupOf, type KubeObject, refOf, valueAt } from "./objects.ts";
import { type Served, serve } from "./served-manifests.ts";
import { mintToken } from "./service-account.ts";
import { eventually } from "./wait.ts";

/** An overlay of the project, installed on Knative's real data plane. */
export interface DataPlane {
  network: ClusterNetwork;
  dispatcher: Dispatcher;
  /** A function by the name of its Knative Service. Throws for one that the manifests do not have. */
  functionNamed(name: string): Served;
  /** Ticks every PingSource of the manifests once. */
  sweep(): Promise<void>;
  /** Applies an object as a person does, who has Knative's webhook before them, and waits until it is Ready. */
  add(object: KubeObject): Promise<KubeObject>;
}

const isOf =
  (kind: string, group: string) =>
  (object: KubeObject): boolean =>
    object.kind === kind && groupOf(object.apiVersion) === group;

async function untilAllReady({ api }: ControlPlane, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await eventually(`${object.kind} ${object.metadata.name} to be Ready`, async () => {
      const current = await api.get(refOf(object));
      const isSeen = valueAt(current, "status", "observedGeneration") === current?.metadata.generation;
      if (isSeen && conditionOf(current, "Ready")?.status === "True") return true;
      throw new Error(JSON.stringify(current?.status));
    });
  }
}

/** What a PingSource shows a Broker that asks for a token. Its controller, which would make the account, does not run here. */
async function authorizationOf(api: Api, source: KubeObject, audience: unknown): Promise<Record<string, string>> {
  if (typeof audience !== "string") return {};
  const { name: sourceName, namespace = "" } = source.metadata;
  const name = `${sourceName}-oidc-sources.knative.dev-pingsource`;
  await api.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
  return { authorization: `Bearer ${await mintToken(api, namespace, name, audience)}` };
}

/** The event of a PingSource as its adapter makes it (eventing 0.47, pkg/adapter/mtping/runner.go), sent to a Broker's address. */
async function tick(api: Api, network: ClusterNetwork, source: KubeObject, address: unknown): Promise<void> {
  const { name, namespace = "" } = source.metadata;
  const broker = String(valueAt(address, "url"));
  const headers = {
    ...(await authorizationOf(api, source, valueAt(address, "audience"))),
    "ce-specversion": "1.0",
    "ce-id": crypto.randomUUID(),
    "ce-type": "dev.knative.sources.ping",
    "ce-source": `/apis/v1/namespaces/${namespace}/pingsources/${name}`,
    "ce-time": new Date().toISOString(),
    "content-type": String(valueAt(source, "spec", "contentType")),
  };
  await eventually(`the tick of ${name} to be taken in`, async () => {
    const status = await network.post(broker, headers, String(valueAt(source, "spec", "data")));
    if (status === 202) return true;
    throw new Error(`the Broker answered ${status}`);
  });
}

/**
 * Builds an overlay with kustomize and applies all of it, then starts Knative's eventing around it and our functions in the places of
 * their pods, each as its own service account, and waits until everything is Ready and every source watches. Sources, Triggers,
 * delivery, arguments and settings are those of the manifests.
 *
 * @param settings added to the environment of every function, as an overlay of a person's own would
 * @param features of Knative, as in its ConfigMap config-features
 */
export async function startDataPlane(
  controlPlane: ControlPlane,
  {
    overlay,
    settings = {},
    features = {},
  }: { overlay: string; settings?: Record<string, string>; features?: Record<string, string> },
): Promise<DataPlane> {
  const { api } = controlPlane;
  await installEventing(api, features);
  const manifests = await admitted(kustomized(`overlays/${overlay}`).map((one) => one as KubeObject));
  const applied: KubeObject[] = [];
  for (const object of manifests) applied.push(await api.apply(object));
  const network = await startClusterNetwork();
  const dispatcher = await startDispatcher(controlPlane, network);
  await startEventing(controlPlane, network);
  const services = applied.filter(isOf("Service", "serving.knative.dev"));
  const served = await Promise.all(services.map((service) => serve(controlPlane, network, service, settings)));
  const [brokers, triggers] = ["Broker", "Trigger"].map((kind) => applied.filter(isOf(kind, "eventing.knative.dev")));
  await untilAllReady(controlPlane, [...(brokers ?? []), ...(triggers ?? [])]);
  const sources = applied.filter(isOf("ApiServerSource", "sources.knative.dev"));
  await startSources(controlPlane, network, sources);
  await untilAllReady(controlPlane, sources);
  const pings = applied.filter(isOf("PingSource", "sources.knative.dev"));
  return {
    network,
    dispatcher,
    functionNamed(name) {
      const found = served.find((one) => one.name === name);
      if (found === undefined) throw new Error(`the manifests have no function ${name}`);
      return found;
    },
    async sweep() {
      for (const ping of pings) {
        const name = String(valueAt(ping, "spec", "sink", "ref", "name"));
        const { namespace = "" } = ping.metadata;
        const broker = await api.get({ apiVersion: "eventing.knative.dev/v1", kind: "Broker", namespace, name });
        await tick(api, network, ping, valueAt(broker, "status", "address"));
      }
    },
    async add(object) {
      const [given = object] = await admitted([object]);
      const current = await api.apply(given);
      await untilAllReady(controlPlane, [current]);
      return current;
    },
  };
}
