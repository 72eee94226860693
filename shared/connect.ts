import type { Cluster } from "./cluster.ts";
import { dryRun } from "./dry-run.ts";
import { inNamespaces } from "./in-namespaces.ts";
import type { Settings } from "./settings.ts";

/**
 * The cluster that the settings name: a snapshot folder, a kubeconfig, or the one we run in. With NAMESPACES only these
 * are seen of it, with DRY_RUN it takes no writes.
 *
 * Throws an InputError when a snapshot or a kubeconfig cannot be read, or none is named outside a cluster.
 */
export async function connect(settings: Settings): Promise<Cluster> {
  const cluster = settings.snapshot === undefined ? await live(settings) : await snapshot(settings.snapshot, settings);
  const seen = inNamespaces(cluster, settings);
  return settings.dryRun ? dryRun(seen) : seen;
}

// Each way to a cluster loads only what it needs: the client library is most of a function's start-up time.
async function live(settings: Settings): Promise<Cluster> {
  const { kubernetesCluster } = await import("./kubernetes/cluster.ts");
  return kubernetesCluster(settings);
}

async function snapshot(folder: string, settings: Settings): Promise<Cluster> {
  const { readObjects } = await import("./snapshot/read.ts");
  const { snapshotCluster } = await import("./snapshot/cluster.ts");
  return snapshotCluster(await readObjects(folder), { ownNamespace: settings.ownNamespace });
}
