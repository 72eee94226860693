import type { Cluster } from "../cluster.ts";
import type { Settings } from "../settings.ts";

export async function kubernetesCluster(_settings: Settings): Promise<Cluster> {
  throw new Error("not written yet");
}
