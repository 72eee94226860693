import type { Difference } from "../../functions/label-machines/facts.ts";
import { refusalSentence } from "../../functions/rewrite-urls/explain.ts";
import { timestamp } from "../../shared/marks/marks.ts";
import type { ObjectKey } from "../../shared/objects/object.ts";
import type { Checked, Planned } from "./decisions.ts";

type Of<Concern extends Planned["concern"]> = Extract<Planned, { concern: Concern }>["decision"];

/** One decision's reason, as a person would say it. */
export function sentence(planned: Planned): string {
  if (planned.concern === "rewrite-urls") return urlSentence(planned.decision);
  if (planned.concern === "label-machines") return adoptionSentence(planned.decision);
  return templateSentence(planned.decision);
}

/** An object as people name it. */
export function short({ kind, namespace, name }: ObjectKey): string {
  return namespace === "" ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

function urlSentence(decision: Of<"rewrite-urls">): string {
  if (decision.verdict === "refuse") {
    if (!isChecked(decision)) return refusalSentence(decision);
    return `${decision.paths.join(", ")}: the old URL stays: ${decision.reason}`;
  }
  const changes = decision.changes.map(({ path, from, to }) => `${path}: ${from} -> ${to}`).join("; ");
  return decision.verdict === "wait" ? `${changes}, once its Cluster is unpaused` : changes || "only our marks go";
}

function adoptionSentence(decision: Of<"label-machines">): string {
  if (decision.verdict === "adopted") return "has all its machines; the opt-in goes";
  const { differences } = decision;
  if (decision.verdict === "refuse") {
    return `${decision.reasons.map(({ reason, message }) => `${reason}: ${message}`).join("; ")}${forecast(differences)}`;
  }
  const machines = decision.machines.map(short).join(", ");
  switch (decision.because) {
    case "adoption-pending":
      return "all its machines are labelled; it adopts them once it may act";
    case "unpaused-halfway":
      return `was unpaused half-way, so the rest is labelled too: ${machines}`;
    case "checks-passed":
      return `every check passes, nothing would roll out; to be labelled: ${machines}`;
    case "rollout-allowed":
      return `every check passes, a rollout is allowed; to be labelled: ${machines}${forecast(differences)}`;
    case "control-plane-missing":
      return `gets a paused KubeadmControlPlane ${decision.controlPlane.metadata.name} written from ${machines}`;
    default:
      return decision satisfies never;
  }
}

function forecast(differences: readonly Difference[]): string {
  const lines = differences.map(({ machine, path, machineValue, wantedValue }) => {
    return `\n            ${machine} ${path}: ${JSON.stringify(machineValue)}, wanted ${JSON.stringify(wantedValue)}`;
  });
  return lines.join("");
}

function isChecked(decision: Of<"rewrite-urls">): decision is Checked {
  return decision.because === "unreachable" || decision.because === "different-length";
}

function templateSentence(decision: Of<"retain-templates" | "collect-templates">): string {
  const by = "by" in decision && decision.by.length > 0 ? ` ${decision.by.map(short).join(", ")}` : "";
  switch (decision.because) {
    case "not-held":
      return "has no hold yet, so a deletion would take effect at once";
    case "argocd-tracked":
      return "Argo CD tracks it, so its annotations keep it from being pruned, and it gets no hold";
    case "prune-option-taken":
      return "Argo CD tracks it, but others set its sync options, so it gets a hold; a sync may wait for it";
    case "deletion-requested":
      return "its deletion was asked for; that is noted on it";
    case "label-missing":
      return "is retired but lacks the label that says so";
    case "needed":
      return `retired, still needed by${by}`;
    case "renew-contested":
      return `wanted, but something retired it again within an hour of its renewal; needed by${by}`;
    case "other-finalizer":
      return `wanted, but another finalizer keeps it from being renewed; needed by${by}`;
    case "referrer-terminating":
      return `wanted; is renewed once these are gone:${by}`;
    case "unreadable-reference":
      return `may be meant by${by} at ${decision.path}, which ${decision.reason}`;
    case "unreadable-kind":
      return `may be needed by objects that cannot be read: ${decision.reason}`;
    case "cluster-paused":
      return "nothing needs it; waits while its Cluster is paused";
    case "grace-period":
      return `nothing needs it; goes after ${timestamp(decision.until)}`;
    case "unneeded":
      return "retired, and nothing needs it any more";
    case "cluster-gone":
      return "retired, and its Cluster is Terminating or gone";
    case "opted-out":
      return 'a person opted it out (retain: "false"), so what keeps it goes';
    case "not-listed":
      return "its owner no longer lists it, so it is retired";
    case "listed":
      return "retired, but its owner lists it again";
    case "owner-unknown":
      return `nothing needs it; waits until its owner's record tells that it is not listed (${decision.reason})`;
    case "wanted":
      return `retired, but wanted again by${by}`;
    default:
      return decision satisfies never;
  }
}
