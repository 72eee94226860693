import type { Change } from "../../shared/change.ts";
import { type Context, type Handle, NOTHING, type Outcome } from "../../shared/context.ts";
import type { Log } from "../../shared/log.ts";
import { type KubeObject, keyOf } from "../../shared/object.ts";
import type { Settings } from "../../shared/settings.ts";
import { createTally } from "../../shared/tally.ts";
import { mayJustBeUnpaused } from "../../shared/unpaused.ts";
import { createCheck } from "./check.ts";
import { isWorthALook } from "./events.ts";
import { gatherUrlFacts, listCarriers } from "./look.ts";
import type { Rules } from "./rules.ts";
import { type RulesSource, rulesFile } from "./rules-source.ts";
import { settle } from "./settle.ts";

const sources = new Map<string | undefined, RulesSource>();

/** Reads the rules once, before anything is served. Throws an InputError with file, line and reason for a bad one. */
export async function prepare(settings: Settings, log: Log): Promise<void> {
  await rulesOf(settings, log);
}

/** Rewrites the URLs of the objects that a change bears on; a sweep looks at all of them. */
export const handle: Handle = async (context, change) =>
  handleWith(context, change, (log) => rulesOf(context.settings, log));

/** `handle` with rules from anywhere. */
export async function handleWith(context: Context, change: Change, source: RulesSource): Promise<Outcome> {
  if (change.type === "own-reply") return NOTHING;
  const rules = await source(context.log);
  if (change.type === "sweep") return lookAtAll(context, rules, () => true);
  const { object } = change;
  if (mayJustBeUnpaused(change, context.now())) {
    return lookAtAll(context, rules, (one) => keyOf(one).namespace === keyOf(object).namespace);
  }
  if (!isWorthALook(change, rules)) return NOTHING;
  const live = await context.cluster.get(keyOf(object));
  if (live === undefined) return NOTHING;
  const facts = await gatherUrlFacts(context.cluster);
  return settle(context, [live], { facts, rules, check: createCheck() }, createTally(context.log));
}

async function lookAtAll(context: Context, rules: Rules, isMeant: (object: KubeObject) => boolean): Promise<Outcome> {
  const tally = createTally(context.log);
  const facts = await gatherUrlFacts(context.cluster);
  const objects = (await listCarriers(context.cluster, facts, tally)).filter(isMeant);
  tally.count("objects", objects.length);
  return settle(context, objects, { facts, rules, check: createCheck() }, tally);
}

function rulesOf({ rewriteRules }: Settings, log: Log): Promise<Rules> {
  const source = sources.get(rewriteRules) ?? rulesFile(rewriteRules);
  sources.set(rewriteRules, source);
  return source(log);
}
