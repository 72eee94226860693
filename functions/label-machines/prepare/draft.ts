import { CLUSTER_NAME, PAUSED } from "../../../shared/marks/marks.ts";
import { CONTROL_PLANE } from "../../../shared/objects/kinds.ts";
import { type KubeObject, keyOf, type ObjectKey, type OwnerReference } from "../../../shared/objects/object.ts";
import type { Fields } from "../forecast/fields.ts";
import { ADOPT, ALLOW_ROLLOUT, allowsRollout } from "../marks.ts";
import type { Ref } from "../survey/read.ts";

/** The name of what is written for a cluster: its control plane, and the template where the machines name none. */
export function nameFor(clusterName: string): string {
  return `${clusterName}-control-plane`;
}

/** The control plane that is written for this Cluster. */
export function controlPlaneKeyOf({ namespace, name }: ObjectKey): ObjectKey {
  return { group: CONTROL_PLANE, kind: "KubeadmControlPlane", namespace, name: nameFor(name) };
}

/** What the control plane is made from. */
interface Parts {
  readonly version: string;
  readonly replicas: number;
  readonly template: Ref;
  readonly configSpec: Fields;
}

/**
 * A KubeadmControlPlane for a Cluster, paused from its first moment and opted in, so that everything else goes its
 * usual way. The rollout strategy is what the webhook would set, which may not be installed.
 */
export function draftControlPlane(cluster: KubeObject, { version, replicas, template, configSpec }: Parts): KubeObject {
  const { name, namespace } = controlPlaneKeyOf(keyOf(cluster));
  const { group, kind } = template;
  return {
    apiVersion: `${CONTROL_PLANE}/v1beta2`,
    kind: "KubeadmControlPlane",
    metadata: {
      name,
      namespace,
      labels: { [CLUSTER_NAME]: cluster.metadata.name },
      annotations: {
        [PAUSED]: "true",
        [ADOPT]: "true",
        ...(allowsRollout(cluster) && { [ALLOW_ROLLOUT]: "true" }),
      },
      ownerReferences: [{ ...ownerOf(cluster), controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      replicas,
      version,
      machineTemplate: { spec: { infrastructureRef: { apiGroup: group, kind, name: template.name } } },
      kubeadmConfigSpec: configSpec,
      rollout: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } },
    },
  };
}

/** The ownerReference to a Cluster that carries an object along in a move. */
export function ownerOf({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name, uid } = metadata;
  return { apiVersion, kind, name, ...(uid !== undefined && { uid }) };
}
