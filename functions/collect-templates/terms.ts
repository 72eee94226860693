import type { Context } from "../../shared/acts/context.ts";
import type { Terms } from "./decide.ts";

/** The name of this function, on the command line, in logs, replies and copies. */
export const CONCERN = "collect-templates";

/** The terms of decisions made now. */
export function termsOf({ settings, now }: Context): Terms {
  return { now: now(), collectGrace: settings.collectGrace, renewAfter: settings.renewAfter };
}
