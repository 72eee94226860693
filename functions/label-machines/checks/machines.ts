import { CLUSTER_NAME, label } from "../../../shared/marks/marks.ts";
import { BOOTSTRAP } from "../../../shared/objects/kinds.ts";
import { groupKindText, isTerminating, type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import type { AdoptionFacts, Reason } from "../facts.ts";
import { type Member, membersOf } from "../survey/members.ts";
import { controllerOf, numberAt, refAt } from "../survey/read.ts";

/** What speaks against an adoption in the machines, one reason for each machine it is found on. */
export function machineReasons(facts: AdoptionFacts): readonly Reason[] {
  const members = membersOf(facts);
  return [
    ...numbers(facts, members),
    ...undetermined(facts, members),
    ...members.flatMap((member) => [
      ...controller(member),
      ...terminating(member),
      ...bootstrap(member),
      ...infrastructureMachine(member),
      ...otherCluster(member, facts.clusterName),
    ]),
  ];
}

function numbers({ controlPlane, clusterName }: AdoptionFacts, members: readonly Member[]): readonly Reason[] {
  const object = keyOf(controlPlane);
  if (members.length === 0) {
    const message = `Cluster ${clusterName} has no Machine that looks like a control-plane member.`;
    return [{ reason: "no-machines", message, object }];
  }
  // Unset is one, as the webhook would have set it.
  const replicas = numberAt(controlPlane, "spec.replicas") ?? 1;
  if (replicas === members.length) return [];
  const fate = members.length > replicas ? "would be deleted" : "would be created";
  const message = `spec.replicas is ${replicas}, but there are ${members.length} control-plane machines; the difference ${fate}.`;
  return [{ reason: "replicas-mismatch", message, object }];
}

/** A Machine without a controller whose KubeadmConfig is gone may be a control-plane member or none. */
function undetermined({ machines }: AdoptionFacts, members: readonly Member[]): readonly Reason[] {
  const known = new Set(members.map(({ machine }) => machine));
  return machines
    .filter(({ machine }) => !known.has(machine) && controllerOf(machine) === undefined)
    .flatMap(({ machine, config }) => (config === undefined ? missingConfig(machine) : []));
}

function missingConfig(machine: KubeObject): readonly Reason[] {
  const { name, namespace = "" } = machine.metadata;
  const ref = refAt(machine, "spec.bootstrap.configRef");
  if (ref === undefined || ref.kind !== "KubeadmConfig") return [];
  const message = `KubeadmConfig ${ref.name} of Machine ${name} does not exist.`;
  return [{ reason: "bootstrap-config-missing", message, object: { ...ref, namespace } }];
}

function controller({ machine, control }: Member): readonly Reason[] {
  if (control !== "foreign") return [];
  const { kind = "", name = "" } = controllerOf(machine) ?? {};
  const message = `Machine ${machine.metadata.name} is managed by ${kind} ${name}; a control plane refuses to work beside another manager.`;
  return [{ reason: "mixed-management", message, object: keyOf(machine) }];
}

function terminating({ machine }: Member): readonly Reason[] {
  if (!isTerminating(machine)) return [];
  const message = `Machine ${machine.metadata.name} is being deleted.`;
  return [{ reason: "machine-terminating", message, object: keyOf(machine) }];
}

function bootstrap({ machine, config }: Member): readonly Reason[] {
  const ref = refAt(machine, "spec.bootstrap.configRef");
  if (ref === undefined || ref.kind !== "KubeadmConfig" || ref.group !== BOOTSTRAP) {
    const found = ref === undefined ? "names none" : `names ${groupKindText(ref)} ${ref.name}`;
    const message = `spec.bootstrap.configRef of Machine ${machine.metadata.name} ${found}; only Machines with a KubeadmConfig are adopted.`;
    return [{ reason: "bootstrap-config-kind", message, object: keyOf(machine) }];
  }
  return config === undefined ? missingConfig(machine) : [];
}

function infrastructureMachine({ machine, infrastructure }: Member): readonly Reason[] {
  if (infrastructure !== "unreadable") return [];
  const { kind = "", name = "" } = refAt(machine, "spec.infrastructureRef") ?? {};
  const message = `${kind} ${name} of Machine ${machine.metadata.name} cannot be read, so whether it matches the control plane's template stays open.`;
  return [{ reason: "infrastructure-machine-unreadable", message, object: keyOf(machine) }];
}

function otherCluster({ machine }: Member, clusterName: string): readonly Reason[] {
  const named = label(machine, CLUSTER_NAME);
  if (named === undefined || named === clusterName) return [];
  const message = `Machine ${machine.metadata.name} carries the label of another Cluster, ${named}.`;
  return [{ reason: "cluster-name-differs", message, object: keyOf(machine) }];
}
