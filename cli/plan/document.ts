import type { Facts } from "../../shared/look/facts.ts";
import { timestamp } from "../../shared/marks/marks.ts";
import type { ObjectKey } from "../../shared/objects/object.ts";
import type { Planned } from "./decisions.ts";
import type { OwnersSay } from "./owners.ts";

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
export function documentOf(
  planned: readonly Planned[],
  facts: Facts,
  unmoved: readonly ObjectKey[],
  owners: OwnersSay,
) {
  return {
    decisions: planned
      .filter(({ decision }) => VERDICTS.has(decision.verdict))
      .map(({ concern, object, decision }) => ({ concern, object, ...plain(decision), ...ownerIn(owners, object) })),
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

function ownerIn(owners: OwnersSay, object: ObjectKey): Record<string, unknown> {
  const said = owners(object);
  if (said === undefined) return {};
  const { tool, namespace, name } = said.owner;
  return { owner: { tool, namespace, name, lists: said.lists } };
}
