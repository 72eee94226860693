import { anewWhenExpired } from "../../../shared/cluster/anew-when-expired.ts";
import type { Cluster } from "../../../shared/cluster/cluster.ts";
import { CLUSTER_NAME, label } from "../../../shared/marks/marks.ts";
import { BOOTSTRAP, CORE } from "../../../shared/objects/kinds.ts";
import type { GroupKind, KubeObject } from "../../../shared/objects/object.ts";
import { stringAt } from "../../../shared/objects/path.ts";
import type { MachineFacts } from "../facts.ts";
import { refAt } from "./read.ts";

export const MACHINE: GroupKind = { group: CORE, kind: "Machine" };
const KUBEADM_CONFIG: GroupKind = { group: BOOTSTRAP, kind: "KubeadmConfig" };

/**
 * Every Machine of the Cluster of this name with its KubeadmConfig, by name; Machines are listed before what they name.
 *
 * Throws a ClusterError where either cannot be listed, "expired" where they change faster than that.
 */
export async function machinesOf(cluster: Cluster, name: string, namespace: string): Promise<readonly MachineFacts[]> {
  const isOfCluster = (machine: KubeObject) =>
    stringAt(machine, "spec.clusterName") === name || label(machine, CLUSTER_NAME) === name;
  const machines = await sifted(cluster, MACHINE, namespace, isOfCluster);
  const named = new Set(machines.map(configNameOf));
  const found = await sifted(cluster, KUBEADM_CONFIG, namespace, ({ metadata }) => named.has(metadata.name));
  const configs = new Map(found.map((config) => [config.metadata.name, config]));
  return machines
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((machine) => {
      return { machine, config: configs.get(configNameOf(machine) ?? ""), infrastructure: undefined };
    });
}

function configNameOf(machine: KubeObject): string | undefined {
  const ref = refAt(machine, "spec.bootstrap.configRef");
  const isKubeadm = ref?.kind === KUBEADM_CONFIG.kind && ref.group === KUBEADM_CONFIG.group;
  return isKubeadm ? ref.name : undefined;
}

/** The objects that are meant, of a list that may be long: the others go with their page. */
async function sifted(
  cluster: Cluster,
  kind: GroupKind,
  namespace: string,
  isMeant: (object: KubeObject) => boolean,
): Promise<KubeObject[]> {
  return anewWhenExpired(async () => {
    const meant: KubeObject[] = [];
    for await (const page of cluster.pages(kind, { namespace })) meant.push(...page.filter(isMeant));
    return meant;
  });
}
