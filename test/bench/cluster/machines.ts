import type { Fields, KubeObject, OwnerReference } from "../../e2e/harness/objects.ts";
import { bootstrap, controlPlane, core, type GeneratedKind, metadataOf, metal3, ownedBy } from "./identity.ts";
import {
  clusterCount,
  clusterName,
  type Generation,
  hostSpec,
  joinSpec,
  rollingCount,
  templateName,
} from "./templates.ts";

/** Where a machine stands, out of its number alone: each cluster has three control-plane machines, and then workers. */
interface Place {
  readonly name: string;
  readonly cluster: number;
  readonly generation: Generation;
  readonly isControlPlane: boolean;
}

function placeOf(index: number): Place {
  const [cluster, row] = [index % clusterCount, Math.floor(index / clusterCount)];
  const isControlPlane = row < 3;
  const isOld = !isControlPlane && cluster < rollingCount && row % 2 === 0;
  return { name: `${clusterName(cluster)}-m-${row}`, cluster, generation: isOld ? "old" : "new", isControlPlane };
}

function labelsOf({ cluster, generation, isControlPlane }: Place): Record<string, string> {
  const rest: Record<string, string> = isControlPlane
    ? { "cluster.x-k8s.io/control-plane": "", "cluster.x-k8s.io/control-plane-name": clusterName(cluster) }
    : {
        "cluster.x-k8s.io/deployment-name": `${clusterName(cluster)}-md`,
        "cluster.x-k8s.io/set-name": templateName(cluster, generation),
        "machine-template-hash": `${cluster}-${generation}`,
      };
  return { "cluster.x-k8s.io/cluster-name": clusterName(cluster), ...rest };
}

function clonedFrom(place: Place, groupKind: string): Record<string, string> {
  return {
    "cluster.x-k8s.io/cloned-from-name": templateName(place.cluster, place.generation),
    "cluster.x-k8s.io/cloned-from-groupkind": groupKind,
  };
}

function setOf({ cluster, generation, isControlPlane }: Place): OwnerReference {
  if (isControlPlane) return ownedBy(controlPlane, "KubeadmControlPlane", clusterName(cluster));
  return ownedBy(core, "MachineSet", templateName(cluster, generation));
}

const condition = (type: string): Fields => ({
  type,
  status: "True",
  reason: type,
  message: "",
  lastTransitionTime: "2026-01-01T00:10:00Z",
  observedGeneration: 1,
});

function machine(place: Place): KubeObject {
  const { name, cluster } = place;
  return {
    apiVersion: core,
    kind: "Machine",
    metadata: metadataOf("Machine", core, name, {
      labels: labelsOf(place),
      annotations: { "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup": "" },
      finalizers: ["machine.cluster.x-k8s.io"],
      ownerReferences: [setOf(place)],
    }),
    spec: {
      clusterName: clusterName(cluster),
      version: "v1.34.1",
      providerID: `metal3://bench/host-${name}/${name}`,
      bootstrap: {
        configRef: { apiGroup: "bootstrap.cluster.x-k8s.io", kind: "KubeadmConfig", name },
        dataSecretName: name,
      },
      infrastructureRef: { apiGroup: "infrastructure.cluster.x-k8s.io", kind: "Metal3Machine", name },
    },
    status: {
      phase: "Running",
      nodeRef: { name },
      addresses: [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "Hostname", address: name },
      ],
      conditions: ["Ready", "Available", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy"].map(condition),
    },
  };
}

function clone(kind: GeneratedKind, apiVersion: string, place: Place, annotations: Record<string, string>): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: metadataOf(kind, apiVersion, place.name, {
      labels: labelsOf(place),
      annotations,
      ownerReferences: [ownedBy(core, "Machine", place.name)],
    }),
    status: { ready: true },
  };
}

/** The Metal3Machine of a place, without a host of its own: its image may still be rewritten. */
function host(place: Place): KubeObject {
  const annotations = clonedFrom(place, "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io");
  const { name, cluster } = place;
  const spec = { ...hostSpec(cluster), providerID: `metal3://bench/host-${name}/${name}` };
  return { ...clone("Metal3Machine", metal3, place, annotations), spec };
}

function config(place: Place): KubeObject {
  // A control plane gives its machines their config itself, from no template.
  const from = place.isControlPlane ? {} : clonedFrom(place, "KubeadmConfigTemplate.bootstrap.cluster.x-k8s.io");
  return { ...clone("KubeadmConfig", bootstrap, place, from), spec: joinSpec(place.cluster) };
}

/** The Machine with this number, its Metal3Machine and its KubeadmConfig. */
export function machineWithParts(index: number): readonly [KubeObject, KubeObject, KubeObject] {
  const place = placeOf(index);
  return [machine(place), host(place), config(place)];
}

/** The numbers from `from` on of `count` workers that were made from the retired templates of one cluster. */
export function oldMachinesOf(cluster: number, from: number, count: number): readonly number[] {
  const firstRow = Math.ceil(from / clusterCount / 2) * 2 + 4;
  return Array.from({ length: count }, (_, at) => (firstRow + 2 * at) * clusterCount + cluster);
}
