import { InputError } from "../setup/input-error.ts";
import type { Settings } from "../setup/settings.ts";
import type { CheckCaller } from "./callers.ts";
import type { Cluster } from "./cluster.ts";
import { dryRun } from "./dry-run.ts";
import { inNamespaces } from "./in-namespaces.ts";

/**
 * The cluster that the settings name: a snapshot folder, a kubeconfig, or the one we run in. With NAMESPACES only these
 * are seen of it, with DRY_RUN it takes no writes.
 *
 * Throws an InputError when a snapshot or a kubeconfig cannot be read, or none is named outside a cluster.
 *
 * @param soon when to connect to a live one ahead of the first call; at that call where it is left out
 */
export async function connect(settings: Settings, soon?: Promise<void>): Promise<Cluster> {
  const cluster =
    settings.snapshot === undefined ? await live(settings, soon) : await snapshot(settings.snapshot, settings);
  const seen = inNamespaces(cluster, settings);
  return settings.dryRun ? dryRun(seen) : seen;
}

/**
 * The check of who sends an event, by the keys of the cluster's own API server; undefined where the settings name no
 * callers.
 *
 * Throws an InputError with a snapshot, and where `connect` does for a live cluster.
 */
export async function connectCallers(
  settings: Settings,
  now: () => Temporal.Instant,
): Promise<CheckCaller | undefined> {
  const { callers, snapshot: folder } = settings;
  if (callers === undefined) return undefined;
  if (folder !== undefined) {
    throw new InputError(
      "OIDC_AUDIENCE and SNAPSHOT are both set; a snapshot has no API server whose keys could be asked for, so no caller could be checked",
    );
  }
  const { checkCallers } = await import("./callers.ts");
  const { apiServerIssuer } = await import("./kubernetes/issuer.ts");
  return checkCallers(callers, await apiServerIssuer(settings, now), now);
}

// Each way to a cluster loads only what it needs: the client library is most of a function's start-up time.
async function live(settings: Settings, soon?: Promise<void>): Promise<Cluster> {
  const { kubernetesCluster } = await import("./kubernetes/cluster.ts");
  return kubernetesCluster(settings, undefined, soon);
}

async function snapshot(folder: string, settings: Settings): Promise<Cluster> {
  const { readObjects } = await import("./snapshot/read.ts");
  const { snapshotCluster } = await import("./snapshot/cluster.ts");
  return snapshotCluster(await readObjects(folder), { ownNamespace: settings.ownNamespace });
}
