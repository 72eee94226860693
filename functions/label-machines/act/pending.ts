import type { Context } from "../../../shared/acts/context.ts";
import { tell } from "../../../shared/acts/tell.ts";
import { isPaused } from "../../../shared/graph/owning-clusters.ts";
import { type KubeObject, keyOf, keyText } from "../../../shared/objects/object.ts";
import { isRecord, stringAt, valuesAt } from "../../../shared/objects/path.ts";
import { eventsOn } from "../explain.ts";
import type { AdoptionFacts } from "../facts.ts";
import { isDone, membersOf } from "../survey/members.ts";

/** What a KubeadmControlPlane records when it refuses to adopt; its other refusals show in its log alone. */
const ADOPTION_FAILED = "AdoptionFailed";

/**
 * Tells people what an adoption that does not come waits for: the Cluster's pause, or what the control plane's own
 * Events and conditions say. An adoption takes seconds, so outside a sweep only a failure is worth telling.
 */
export async function tellPending(context: Context, facts: AdoptionFacts, isSweep: boolean): Promise<void> {
  const { controlPlane, cluster } = facts;
  const pending = { regarding: controlPlane, reason: "AdoptionPending", action: "Adopt" } as const;
  if (cluster !== undefined && isPaused(cluster)) {
    const note = `All machines are labelled; Cluster ${cluster.metadata.name} is paused, and the adoption begins when it no longer is.`;
    if (isSweep) await tell(context, { ...pending, type: "Normal", note, state: "cluster-paused" });
    return;
  }
  const events = await eventsOn(context.cluster, controlPlane);
  const failures = events.filter((event) => stringAt(event, "reason") === ADOPTION_FAILED);
  if (!isSweep && failures.length === 0) return;
  const parts = [
    `All machines are labelled and not yet adopted: ${waitingFor(facts)}.`,
    ...said(controlPlane, failures),
  ];
  const state = failures.length > 0 ? "adoption-failed" : "not-adopted";
  await tell(context, { ...pending, type: "Warning", note: parts.join(" ").slice(0, 1000), state });
}

function waitingFor(facts: AdoptionFacts): string {
  const waiting = membersOf(facts).filter((member) => member.control !== "own" && isDone(member, facts.clusterName));
  return waiting.map(({ machine }) => keyText(keyOf(machine))).join(", ");
}

function said(controlPlane: KubeObject, failures: readonly KubeObject[]): readonly string[] {
  const notes = failures.map(
    (event) => `${ADOPTION_FAILED}: ${stringAt(event, "note") ?? stringAt(event, "message") ?? ""}`,
  );
  const conditions = ["status.conditions[]", "status.v1beta2.conditions[]"]
    .flatMap((path) => valuesAt(controlPlane, path))
    .map(({ value }) => value)
    .filter(isRecord)
    .filter(({ message }) => typeof message === "string" && message !== "")
    .map(({ type, status, message }) => `${String(type)}=${String(status)}: ${String(message)}`);
  const all = [...notes, ...conditions];
  return all.length > 0 ? all : ["Its Events and conditions say nothing; the log of its controller may."];
}
