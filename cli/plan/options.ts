import { parseArgs } from "node:util";
import { instant } from "../../shared/marks/marks.ts";
import { InputError } from "../../shared/setup/input-error.ts";
import { readSettings, type Settings } from "../../shared/setup/settings.ts";

export interface Options {
  readonly settings: Settings;
  readonly now: Temporal.Instant;
  readonly json: boolean;
  /** Ask the new URLs over the network. */
  readonly check: boolean;
  /** Plan putting rewritten URLs back instead of rewriting. */
  readonly undo: boolean;
}

const USAGE =
  "usage: npm run --silent plan -- [--snapshot DIR] [--rules FILE] [--check] [--undo] [--now RFC3339] [--grace ISO8601] [--json]";

/** Reads plan's command line over the environment. Throws an InputError that names the option and what it may hold. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Options {
  const { snapshot, rules, check, undo, now, grace, json } = parse(args);
  const moment = now === undefined ? Temporal.Now.instant() : instant(now);
  if (moment === undefined) throw new InputError(`--now is ${JSON.stringify(now)}; it may be an RFC 3339 time`);
  const settings = readSettings({
    ...environment,
    ...(snapshot !== undefined && { SNAPSHOT: snapshot }),
    ...(rules !== undefined && { REWRITE_RULES: rules }),
    ...(grace !== undefined && { COLLECT_GRACE: grace }),
  });
  return { settings, now: moment, json: json ?? false, check: check ?? false, undo: undo ?? false };
}

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        snapshot: { type: "string" },
        rules: { type: "string" },
        check: { type: "boolean" },
        undo: { type: "boolean" },
        now: { type: "string" },
        grace: { type: "string" },
        json: { type: "boolean" },
      },
    });
    return values;
  } catch (error) {
    throw new InputError(`${error instanceof Error ? error.message : String(error)}; ${USAGE}`, { cause: error });
  }
}
