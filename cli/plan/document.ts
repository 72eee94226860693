import type { Facts } from "../../shared/facts.ts";
import { timestamp } from "../../shared/marks.ts";
import type { ObjectKey } from "../../shared/object.ts";
import type { Planned } from "./decisions.ts";

/** The verdicts that the contract of `--json` names; bookkeeping between them is for people only. */
const VERDICTS: ReadonlySet<string> = new Set([
  "hold",
  "restore",
  "keep",
  "wait",
  "collect",
  "renew",
  "rewrite",
  "refuse",
  "label",
  "adopted",
]);

/** The document that `plan --json` prints. */
export function documentOf(planned: readonly Planned[], facts: Facts, unmoved: readonly ObjectKey[]) {
  return {
    decisions: planned
      .filter(({ decision }) => VERDICTS.has(decision.verdict))
      .map(({ concern, object, decision }) => ({ concern, object, ...plain(decision) })),
    missing: facts.graph.missing(),
    unmoved,
    unreadable: facts.graph.unreadable.map(({ referrer, path, reason }) => ({ referrer, path, reason })),
    unread: facts.unread,
  };
}

function plain(decision: Planned["decision"]): Record<string, unknown> {
  if (!("until" in decision)) return { ...decision };
  const { starts: _, until, ...rest } = decision;
  return { ...rest, until: timestamp(until) };
}
