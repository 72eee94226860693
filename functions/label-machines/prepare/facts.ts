import { type Cluster, failedWith } from "../../../shared/cluster/cluster.ts";
import { CONTROL_PLANE } from "../../../shared/objects/kinds.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../../shared/objects/object.ts";
import type { AdoptionFacts } from "../facts.ts";
import { completed } from "../gather.ts";
import { membersOf } from "../survey/members.ts";
import { configMapName, type GivenConfiguration } from "./cluster-configuration.ts";
import { controlPlaneKeyOf, nameFor } from "./draft.ts";
import { draftConfigSpec } from "./draft-config.ts";
import { infrastructureOf, type NamedTemplate, templateNamed } from "./draft-template.ts";

/** One look at a Cluster whose machines are to get a control plane. */
export interface PreparationFacts {
  readonly cluster: KubeObject;
  /** As for an adoption, with an empty control plane in the place of the one to be written. */
  readonly adoption: AdoptionFacts;
  /** What stands under the control plane's name already. */
  readonly standing: KubeObject | undefined;
  /** The template that the control plane has to name, and what stands there. */
  readonly template: (NamedTemplate & { readonly standing: KubeObject | undefined }) | undefined;
  /** The ConfigMap with the cluster's configuration; not asked for where a config of the machines carries it. */
  readonly configMap: GivenConfiguration;
  readonly servesV1beta2: boolean;
}

/**
 * Reads what bears on writing a control plane for this Cluster; the Cluster first, so that a write to it conflicts when
 * anything happened to it since. Undefined when it is not there. Throws a ClusterError where something cannot be read.
 */
export async function gatherPreparation(
  api: Cluster,
  key: ObjectKey,
  serviceAccount: string,
): Promise<PreparationFacts | undefined> {
  const cluster = await api.get(key);
  if (cluster === undefined) return undefined;
  const { name: clusterName, namespace = "" } = cluster.metadata;
  const empty = emptyControlPlane(cluster);
  const adoption = await completed(api, { controlPlane: empty, cluster, clusterName, serviceAccount });
  const members = membersOf(adoption);
  const named = templateNamed(infrastructureOf(members), nameFor(clusterName));
  const configs = members.flatMap(({ config }) => config ?? []);
  const lacksConfiguration = configs.length > 0 && draftConfigSpec(configs, undefined) === undefined;
  const { served } = await api.discover();
  const kind = served.find((one) => one.group === CONTROL_PLANE && one.kind === empty.kind);
  return {
    cluster,
    adoption,
    standing: await api.get(controlPlaneKeyOf(keyOf(cluster))),
    template: named && { ...named, standing: await api.get({ ...named.ref, namespace }) },
    configMap: lacksConfiguration ? await configMapOf(api, clusterName, namespace) : undefined,
    servesV1beta2: kind === undefined || kind.version === "v1beta2",
  };
}

function emptyControlPlane(cluster: KubeObject): KubeObject {
  const { kind, name, namespace } = controlPlaneKeyOf(keyOf(cluster));
  return { apiVersion: `${CONTROL_PLANE}/v1beta2`, kind, metadata: { name, namespace } };
}

async function configMapOf(api: Cluster, clusterName: string, namespace: string): Promise<GivenConfiguration> {
  try {
    return await api.get({ group: "", kind: "ConfigMap", namespace, name: configMapName(clusterName) });
  } catch (error) {
    if (failedWith(error, "forbidden")) return "unreadable";
    throw error;
  }
}
