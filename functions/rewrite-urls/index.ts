import { type Context, type Handle, NOTHING, type Outcome } from "../../shared/acts/context.ts";
import { createTally } from "../../shared/acts/tally.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { inNamespaces } from "../../shared/cluster/in-namespaces.ts";
import type { Change } from "../../shared/events/change.ts";
import { mayJustBeUnpaused } from "../../shared/events/unpaused.ts";
import { keyOf } from "../../shared/objects/object.ts";
import type { Log } from "../../shared/setup/log.ts";
import type { Settings } from "../../shared/setup/settings.ts";
import { afterUnpausing } from "./after-unpausing.ts";
import { createCheck } from "./check.ts";
import { isOfInterest, isWorthALook } from "./events.ts";
import { carriersThat, gatherUrlFacts } from "./gather.ts";
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
  if (change.type === "sweep") return lookAtAll(context, context.cluster, rules);
  const key = keyOf(change.object);
  if (mayJustBeUnpaused(change, context.now())) {
    const home = inNamespaces(context.cluster, { ...context.settings, namespaces: [key.namespace] });
    return afterUnpausing(context, key, rules, () => lookAtAll(context, home, rules));
  }
  if (!isWorthALook(change, rules)) return NOTHING;
  const live = await context.cluster.get(key);
  if (live === undefined) return NOTHING;
  const facts = await gatherUrlFacts(context.cluster, { about: [key] });
  return settle(context, [live], { facts, rules, check: createCheck() }, createTally(context.log));
}

/** @param seen the cluster as far as it is looked at; objects and what decides about them share a namespace, with Metal3 and CAPI alike */
async function lookAtAll(context: Context, seen: Cluster, rules: Rules): Promise<Outcome> {
  const tally = createTally(context.log);
  const { visit, seen: lookedAt, complete } = carriersThat((object) => isOfInterest(object, rules));
  const facts = await gatherUrlFacts(seen, { visit });
  const objects = await complete(seen, tally);
  tally.count("objects", lookedAt());
  return settle(context, objects, { facts, rules, check: createCheck() }, tally);
}

function rulesOf({ rewriteRules }: Settings, log: Log): Promise<Rules> {
  const source = sources.get(rewriteRules) ?? rulesFile(rewriteRules);
  sources.set(rewriteRules, source);
  return source(log);
}
