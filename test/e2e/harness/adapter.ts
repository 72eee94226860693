import { sourceUser } from "./api-server.ts";
import { requestsSince } from "./audit.ts";
import type { ControlPlane } from "./control-plane.ts";
import { groupOf, type Kind, pluralOf } from "./objects.ts";
import { binary } from "./paths.ts";
import { type Child, startProcess, untilReady } from "./process.ts";
import { type Account, kubeconfigFor, userOf } from "./service-account.ts";

export interface Adapter extends Child {
  /** Milliseconds from its start until all its watches were up. */
  readyAfterMs: number;
}

/** A kind's API, spelled as the adapter's configuration has it. */
export interface Resource {
  Group: string;
  Version: string;
  Resource: string;
}

function resourceOf({ apiVersion, kind }: Kind): Resource {
  return { Group: groupOf(apiVersion), Version: apiVersion.split("/").at(-1) ?? "", Resource: pluralOf(kind) };
}

/**
 * Waits until the API server has answered a watch of every resource for an adapter's user, whose watches must be in the audit log.
 * Throws with the end of its log when the adapter ends before that.
 */
export async function untilWatched(
  controlPlane: ControlPlane,
  child: Child,
  { user, since, resources }: { user: string; since: Date; resources: readonly Resource[] },
): Promise<void> {
  const missing = new Set(resources.map(({ Group, Version, Resource }) => `${Resource}.${Version}.${Group}`));
  await untilReady(child, async () => {
    for (const { user: by, verb, objectRef = {} } of requestsSince(controlPlane, since)) {
      const { resource, apiVersion, apiGroup = "" } = objectRef;
      if (by.username === user && verb === "watch") missing.delete(`${resource}.${apiVersion}.${apiGroup}`);
    }
    return missing.size === 0;
  });
}

/**
 * Starts Knative's ApiServerSource adapter in Resource mode for all namespaces, and waits until the watch of every kind is up.
 * Neither its log nor its probes tell that, but the API server's audit log does: what changes once a watch was answered is sent.
 * Every kind must be served by then. It logs in as a user of its own, or as a service account. Throws for a given cluster, whose audit log is out of reach.
 */
export async function startAdapter(
  controlPlane: ControlPlane,
  sink: string,
  kinds: readonly Kind[],
  { name = "adapter", account }: { name?: string; account?: Account } = {},
): Promise<Adapter> {
  if (controlPlane.own === undefined) throw new Error("the adapter is not started beside a given cluster");
  const resources = kinds.map((kind) => ({ gvr: resourceOf(kind) }));
  const started = new Date();
  const child = await startProcess({
    name: `${controlPlane.name}-${name}`,
    command: binary("apiserver-receive-adapter"),
    env: {
      KUBECONFIG:
        account === undefined ? controlPlane.own.sourceKubeconfig : await kubeconfigFor(controlPlane, account),
      NAMESPACE: "e2e",
      NAME: name,
      SYSTEM_NAMESPACE: "knative-eventing",
      K_COMPONENT: "apiserversource",
      K_SINK: sink,
      K_SINK_TIMEOUT: "30",
      K_SOURCE_CONFIG: JSON.stringify({ namespaces: [""], allNamespaces: true, resources, mode: "Resource" }),
    },
  });
  await untilWatched(controlPlane, child, {
    user: account === undefined ? sourceUser : userOf(account),
    since: started,
    resources: resources.map(({ gvr }) => gvr),
  });
  return { ...child, readyAfterMs: Date.now() - started.getTime() };
}
