import { instant, timestamp } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import type { UrlChange } from "./findings.ts";
import { writerOf } from "./managed-fields.ts";
import { type Contest, contestOf, recordOf, rewrittenFrom } from "./record.ts";
import type { Rules } from "./rules.ts";
import { stringsUnder } from "./strings.ts";

const MOST_REVERTS = 3;
const WINDOW = Temporal.Duration.from({ minutes: 10 });
const REST = Temporal.Duration.from({ hours: 1 });

/** How a change that is due stands to what was rewritten before. `mark` is the annotation to write with it. */
export type Standing =
  | { readonly state: "calm"; readonly mark: Contest | undefined }
  /** Someone put an old URL back, not often enough yet to give way. */
  | { readonly state: "reverted"; readonly mark: Contest }
  /** It was put back too often just now: nothing is written but the mark. */
  | { readonly state: "stops"; readonly mark: Contest }
  /** We gave way and still do. */
  | { readonly state: "stopped"; readonly mark: Contest };

/**
 * Weighs the changes that rules ask for against those made before: a URL that is again what it was before us was put
 * back by someone. After three such reverts within ten minutes we give way, for an hour or until the rules change.
 */
export function standingOf(
  object: KubeObject,
  changes: readonly UrlChange[],
  rules: Rules,
  now: Temporal.Instant,
): Standing {
  const mark = contestOf(object);
  const current = mark?.rules === rules.hash ? mark : undefined;
  const stoppedAt = instant(current?.stoppedAt);
  if (current !== undefined && stoppedAt !== undefined) {
    if (isBefore(now, stoppedAt.add(REST))) return { state: "stopped", mark: current };
    return { state: "calm", mark: undefined };
  }
  const before = rewrittenFrom(object);
  const wrote = recordOf(object)?.wrote ?? {};
  const reverted = changes.find(({ path, from }) => before[path] === from && wrote[path] !== from);
  if (reverted === undefined) return { state: "calm", mark: current };
  const recent = (current?.reverts ?? []).filter((at) => !isBefore(instant(at) ?? now, now.subtract(WINDOW)));
  const reverts = [...recent, timestamp(now)];
  const place = stringsUnder(object, "spec").find(({ path }) => path === reverted.path);
  const by = (place && writerOf(object, place)) ?? "unknown";
  const next: Contest = { reverts, by, rules: rules.hash };
  if (reverts.length < MOST_REVERTS) return { state: "reverted", mark: next };
  return { state: "stops", mark: { ...next, stoppedAt: timestamp(now) } };
}

/** Whether a mark is over and done with: its URL is right now, and no revert was seen for a while. */
export function isSettled(object: KubeObject, now: Temporal.Instant): boolean {
  const last = instant(contestOf(object)?.reverts.at(-1));
  return last !== undefined && isBefore(last, now.subtract(WINDOW));
}

function isBefore(a: Temporal.Instant, b: Temporal.Instant): boolean {
  return Temporal.Instant.compare(a, b) < 0;
}
