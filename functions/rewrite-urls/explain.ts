import type { Checked } from "./check.ts";
import type { Decision, Refusal } from "./decide.ts";
import type { UrlChange } from "./findings.ts";
import type { Contest } from "./record.ts";
import { redact } from "./url.ts";

type Refused = Extract<Decision, { readonly verdict: "refuse" }>;

const WHY: Readonly<Record<Exclude<Refusal, "contested">, string>> = {
  "control-plane-inline": "a change of a control plane's own config rolls its machines; set the new URL in its source",
  "topology-owned":
    "the topology controller would replace it and roll its machines; set the new URL in the ClusterClass",
  "class-template":
    "a ClusterClass uses it, so a change would roll machines with the old URL; make a new template for it",
  immutable: "objects of this kind may not change in place; replace it with one that has the new URL",
  "inside-text": "a URL or host name inside a text is not rewritten; change it in its source",
  loop: "the rules would take the new URL again; change them so that no from matches it",
  "unreadable-kind": "what bears on it could not be read",
};

/** A refusal as a person would say it. Without user info of any URL. */
export function refusalSentence({ because, paths, reason }: Refused): string {
  const why = because === "contested" ? "the old URL is put back each time" : WHY[because];
  return brief(`${paths.join(", ")}: ${why}${reason === undefined ? "" : ` (${reason})`}.`);
}

/** What was rewritten, and whether nothing answered at the new URLs. */
export function rewriteSentence(changes: readonly UrlChange[], unanswered: readonly string[]): string {
  const done = changes.map(({ path, from, to }) => `${path}: ${from} is now ${to}`).join("; ");
  const doubt = unanswered.length === 0 ? "" : ` Written unasked, as the rule says: ${unanswered.join("; ")}.`;
  return brief(`${done}.${doubt}`);
}

/** Why a check stopped a change, and what to do. */
export function checkSentence({ reason }: Extract<Checked, { readonly result: "refuse" }>): string {
  return brief(`The old URL stays: ${reason}. It is asked again at the next sweep; check: warn or none asks less.`);
}

/** What the API server has against the change. */
export function rejectionSentence(message: string): string {
  return brief(`The API server refuses the new URL: ${message}`);
}

/** Who puts the old URL back, and what to set there (Flux and Argo CD keep their own switches for it). */
export function contestSentence({ by, reverts }: Contest, paths: readonly string[]): string {
  const times = `${by} put the old URL back ${reverts.length} times within ten minutes`;
  return brief(`${paths.join(", ")}: ${times}, so it stays for an hour. ${adviceFor(by, paths)}`);
}

function adviceFor(manager: string, paths: readonly string[]): string {
  const pointers = paths.map(pointerTo).join(", ");
  if (manager.startsWith("helm-controller")) {
    return `Set the new URL in the chart's values, or list ${pointers} under driftDetection.ignore of the HelmRelease.`;
  }
  if (manager.startsWith("kustomize-controller")) {
    return "Set the new URL in its source, or annotate the object there with kustomize.toolkit.fluxcd.io/ssa: IfNotPresent.";
  }
  if (manager.startsWith("argocd")) {
    return `Set the new URL in its source, or ignoreDifferences with jsonPointers ${pointers} and RespectIgnoreDifferences=true.`;
  }
  if (manager === "helm") return "Set the new URL in the chart's values.";
  return `Set the new URL in the source that ${manager} applies.`;
}

/** A path as a JSON pointer (RFC 6901), the notation of Flux and Argo CD. */
function pointerTo(path: string): string {
  const steps = [...path.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)].map(([, field, bracketed]) => field ?? bracketed ?? "");
  return steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

// An Event's note may have 1024 bytes.
function brief(text: string): string {
  return redact(text).slice(0, 1000);
}
