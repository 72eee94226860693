import { sourceUser } from "./api-server.ts";
import { requestsSince } from "./audit.ts";
import type { ControlPlane } from "./control-plane.ts";
import { groupOf, type Kind, pluralOf } from "./objects.ts";
import { binary } from "./paths.ts";
import { type Child, startProcess, untilReady } from "./process.ts";

export interface Adapter extends Child {
  /** Milliseconds from its start until all its watches were up. */
  readyAfterMs: number;
}

function resourceOf({ apiVersion, kind }: Kind): { Group: string; Version: string; Resource: string } {
  return { Group: groupOf(apiVersion), Version: apiVersion.split("/").at(-1) ?? "", Resource: pluralOf(kind) };
}

/**
 * Starts Knative's ApiServerSource adapter in Resource mode for all namespaces, and waits until the watch of every kind is up.
 * Neither its log nor its probes tell that, but the API server's audit log does: what changes once a watch was answered is sent.
 * Every kind must be served by then. Throws for a given cluster, whose audit log is out of reach.
 */
export async function startAdapter(
  controlPlane: ControlPlane,
  sink: string,
  kinds: readonly Kind[],
  { name = "adapter" }: { name?: string } = {},
): Promise<Adapter> {
  if (controlPlane.own === undefined) throw new Error("the adapter is not started beside a given cluster");
  const resources = kinds.map((kind) => ({ gvr: resourceOf(kind) }));
  const started = new Date();
  const child = await startProcess({
    name: `${controlPlane.name}-${name}`,
    command: binary("apiserver-receive-adapter"),
    env: {
      KUBECONFIG: controlPlane.own.sourceKubeconfig,
      NAMESPACE: "e2e",
      NAME: name,
      SYSTEM_NAMESPACE: "knative-eventing",
      K_COMPONENT: "apiserversource",
      K_SINK: sink,
      K_SINK_TIMEOUT: "30",
      K_SOURCE_CONFIG: JSON.stringify({ namespaces: [""], allNamespaces: true, resources, mode: "Resource" }),
    },
  });
  const missing = new Set(resources.map(({ gvr }) => `${gvr.Resource}.${gvr.Version}.${gvr.Group}`));
  await untilReady(child, async () => {
    for (const { user, verb, objectRef = {} } of requestsSince(controlPlane, started)) {
      const { resource, apiVersion, apiGroup = "" } = objectRef;
      if (user.username === sourceUser && verb === "watch") missing.delete(`${resource}.${apiVersion}.${apiGroup}`);
    }
    return missing.size === 0;
  });
  return { ...child, readyAfterMs: Date.now() - started.getTime() };
}
