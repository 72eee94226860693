import { type Answer, ask } from "./ask.ts";
import type { UrlChange } from "./findings.ts";
import type { Rule } from "./rules.ts";
import { redact } from "./url.ts";

/** Whether a change may be written, as far as the servers tell. */
export type Checked =
  | { readonly result: "fine" }
  /** Nothing answered, and the rule says to write all the same. */
  | { readonly result: "unanswered"; readonly reason: string }
  | {
      readonly result: "refuse";
      readonly because: "unreachable" | "different-length";
      readonly reason: string;
    };

export type Check = (change: UrlChange, rule: Rule) => Promise<Checked>;

export interface CheckLimits {
  /** Milliseconds for each request. */
  readonly timeout: number;
  readonly atOnce: number;
}

const LIMITS: CheckLimits = { timeout: 5000, atOnce: 4 };

/** A check for one sweep or event: every URL is asked once, a few at a time. Never throws. */
export function createCheck(limits: CheckLimits = LIMITS): Check {
  const limited = limitedTo(limits.atOnce);
  const asked = new Map<string, Promise<Answer>>();
  const askOnce = (url: string): Promise<Answer> => {
    const answer = asked.get(url) ?? limited(() => ask(url, limits.timeout));
    asked.set(url, answer);
    return answer;
  };
  return async ({ from, to }, { check }) => {
    if (check === "none") return { result: "fine" };
    const [after, before] = await Promise.all([askOnce(to), askOnce(from)]);
    return weigh(after, before, check, redact(to));
  };
}

function weigh(after: Answer, before: Answer, check: "head" | "warn", url: string): Checked {
  if (after.state === "silent" && check === "warn") {
    return { result: "unanswered", reason: `${url} could not be asked (${after.reason})` };
  }
  if (after.state !== "there") return { result: "refuse", because: "unreachable", reason: `${url}: ${after.reason}` };
  const isKnown = before.state === "there" && before.length !== undefined && after.length !== undefined;
  if (!isKnown || before.length === after.length) return { result: "fine" };
  const reason = `${url} has ${after.length} bytes, the old URL ${before.length}`;
  return { result: "refuse", because: "different-length", reason };
}

/** Runs tasks as they come, at most `atOnce` of them at a time. */
function limitedTo(atOnce: number): <Result>(task: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running < atOnce) running += 1;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await task();
    } finally {
      // A task that waits takes the place over, so that none that comes meanwhile can slip in beside it.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
