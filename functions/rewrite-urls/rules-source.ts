import { InputError } from "../../shared/setup/input-error.ts";
import type { Log } from "../../shared/setup/log.ts";
import type { Rules } from "./rules.ts";
import { parseRules, rulesText } from "./rules-file.ts";

/** Where the rules come from, asked at every event: a mounted ConfigMap changes under a running function. */
export type RulesSource = (log: Log) => Promise<Rules>;

/**
 * The rules of a file, parsed again only when its text changed. A file that was good once and is not any more is
 * logged, and the last good rules stay. Throws an InputError while there were none.
 */
export function rulesFile(file: string | undefined): RulesSource {
  let last: { readonly text: string; readonly rules: Rules } | undefined;
  let complainedAbout: string | undefined;
  return async (log) => {
    if (file === undefined) throw new InputError("REWRITE_RULES is not set; it may be the path of a rules file");
    try {
      const text = await rulesText(file);
      if (last?.text !== text) last = { text, rules: parseRules(text, file) };
    } catch (error) {
      if (last === undefined || !(error instanceof InputError)) throw error;
      if (complainedAbout !== error.message) log.error({ reason: error.message }, "rules not read, the last ones stay");
      complainedAbout = error.message;
    }
    return last.rules;
  };
}
