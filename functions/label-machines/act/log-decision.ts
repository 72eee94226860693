import { keyText, type ObjectKey } from "../../../shared/objects/object.ts";
import type { Log } from "../../../shared/setup/log.ts";
import type { Decision } from "../decide.ts";
import type { Preparation } from "../prepare/decide.ts";

/** Logs a decision. Differences may hold secrets (file contents, passwords), so the log gets their number alone. */
export function logDecision(log: Log, key: ObjectKey, decision: Decision | Preparation): void {
  const { verdict, because } = decision;
  if (verdict === "leave") return;
  const reasons = verdict === "refuse" ? decision.reasons.map(({ reason }) => reason) : [];
  const differences = verdict === "adopted" ? 0 : decision.differences.length;
  log.info({ object: keyText(key), verdict, because, reasons, differences }, "decided");
}
