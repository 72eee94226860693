import { isPaused } from "../../shared/graph/owning-clusters.ts";
import { annotation, DELETE_FOR_MOVE } from "../../shared/marks/marks.ts";
import { keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { failedChecks, warningsOf } from "./checks/reasons.ts";
import type { AdoptionFacts, Difference, Reason } from "./facts.ts";
import { forecast } from "./forecast/forecast.ts";
import { allowsRollout, isOptedIn, labellingOf } from "./marks.ts";
import { isDone, type Member, membersOf } from "./survey/members.ts";

export interface Refusal {
  readonly verdict: "refuse";
  /** The first reason. */
  readonly because: string;
  readonly reasons: readonly Reason[];
  readonly warnings: readonly Reason[];
  /** What the control plane would roll out; empty where the forecast has no part in it. */
  readonly differences: readonly Difference[];
}

/** What becomes of a control plane that a person marked for adoption. */
export type Decision =
  | { readonly verdict: "leave"; readonly because: "not-opted-in" | "off-limits" }
  | { readonly verdict: "adopted"; readonly because: "owned"; readonly machines: readonly ObjectKey[] }
  | {
      readonly verdict: "label";
      readonly because: "adoption-pending" | "unpaused-halfway" | "checks-passed" | "rollout-allowed";
      /** The machines with something left to label, on them or on their KubeadmConfigs. */
      readonly machines: readonly ObjectKey[];
      readonly warnings: readonly Reason[];
      readonly differences: readonly Difference[];
      /** Where all are labelled and the control plane is paused: what keeps it paused. */
      readonly withheld: readonly Reason[];
    }
  | Refusal;

/** Decides about one control plane. Its order is part of the contract: see the issue and the design. */
export function decide(facts: AdoptionFacts, now: Temporal.Instant): Decision {
  const { controlPlane, clusterName } = facts;
  if (!isOptedIn(controlPlane)) return { verdict: "leave", because: "not-opted-in" };
  if (annotation(controlPlane, DELETE_FOR_MOVE) !== undefined) return { verdict: "leave", because: "off-limits" };
  if (controlPlane.kind !== "KubeadmControlPlane") return refusal([notAdopting(controlPlane.kind)]);
  const members = membersOf(facts);
  if (members.length > 0 && members.every(({ control }) => control === "own")) {
    return { verdict: "adopted", because: "owned", machines: members.map(keyOfMachine) };
  }
  const left = members.filter((member) => member.control === "free" && !isDone(member, clusterName));
  const isMixed = members.some(({ control }) => control === "foreign");
  if (members.length > 0 && left.length === 0 && !isMixed) return pending(facts, now);
  if (!isHeldStill(facts)) {
    if (labellingOf(controlPlane) === undefined) return refusal([notPaused(facts)]);
    return { ...toLabel(left), because: "unpaused-halfway" };
  }
  const { reasons, differences } = against(facts, now);
  const warnings = warningsOf(facts);
  if (reasons.length > 0) return refusal(reasons, differences, warnings);
  const because = differences.length > 0 ? "rollout-allowed" : "checks-passed";
  return { ...toLabel(left), because, warnings, differences };
}

/** Whether the control plane acts on nothing: it is paused, or its Cluster is. */
export function isHeldStill({ controlPlane, cluster }: Pick<AdoptionFacts, "controlPlane" | "cluster">): boolean {
  return isPaused(controlPlane) || (cluster !== undefined && isPaused(cluster));
}

/** Everything against letting the control plane have the machines, checks and forecast together. */
export function against(
  facts: AdoptionFacts,
  now: Temporal.Instant,
): { readonly reasons: readonly Reason[]; readonly differences: readonly Difference[] } {
  const differences = forecast(facts, now);
  const failed = failedChecks(facts);
  if (differences.length === 0 || allowsRollout(facts.controlPlane)) return { reasons: failed, differences };
  return { reasons: [...failed, wouldRollOut(differences)], differences };
}

export function refusal(
  reasons: readonly Reason[],
  differences: readonly Difference[] = [],
  warnings: readonly Reason[] = [],
): Refusal {
  return { verdict: "refuse", because: reasons[0]?.reason ?? "unknown", reasons, warnings, differences };
}

function pending(facts: AdoptionFacts, now: Temporal.Instant): Decision {
  const { reasons, differences } = isHeldStill(facts) ? against(facts, now) : { reasons: [], differences: [] };
  return { ...toLabel([]), because: "adoption-pending", differences, withheld: reasons };
}

function toLabel(left: readonly Member[]) {
  return { verdict: "label", machines: left.map(keyOfMachine), warnings: [], differences: [], withheld: [] } as const;
}

function keyOfMachine({ machine }: Member): ObjectKey {
  return keyOf(machine);
}

function notAdopting(kind: string): Reason {
  const message = `The provider of ${kind} does not adopt machines: it stalls on labelled ones that it does not own.`;
  return { reason: "provider-does-not-adopt", message };
}

function notPaused({ controlPlane }: AdoptionFacts): Reason {
  const { name, namespace = "" } = controlPlane.metadata;
  const message =
    "Neither the control plane nor its Cluster is paused, so it may act on some of the machines before all are labelled. " +
    `Pause it: kubectl -n ${namespace} annotate kubeadmcontrolplane ${name} cluster.x-k8s.io/paused=true`;
  return { reason: "kcp-not-paused", message, object: keyOf(controlPlane) };
}

// Values may be secrets (file contents, passwords), so a sentence that ends up in an Event names paths alone.
function wouldRollOut(differences: readonly Difference[]): Reason {
  const fields = differences.map(({ machine, path }) => `${machine} ${path}`).join(", ");
  return { reason: "would-roll-out", message: `Right after the adoption these would be rolled out: ${fields}.` };
}
