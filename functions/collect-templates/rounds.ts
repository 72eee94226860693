import type { Act, Context, Outcome } from "../../shared/acts/context.ts";
import { listCopies } from "../../shared/acts/copies.ts";
import { createTally, type Failure, type Tally, throwAny } from "../../shared/acts/tally.ts";
import { gatherFacts } from "../../shared/look/facts.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";
import { finish } from "./finish.ts";
import { settle } from "./settle.ts";
import { CONCERN } from "./terms.ts";

/** What one look and the acts that followed made of all that waited for it. */
export interface Round {
  /** The templates that were decided about, by `keyText`. */
  readonly keys: ReadonlySet<string>;
  readonly tally: Tally;
  /** Acts that some event has already told of in its reply. */
  readonly told: Set<Act>;
}

/** What an event or a sweep waits for: a decision about these templates, or about all there are. */
export interface Asked {
  readonly context: Context;
  readonly keys: readonly ObjectKey[] | "all";
}

/**
 * Looks once for all that waited, and carries out what the look decides.
 *
 * Throws a ClusterError when discovery fails; whatever else fails is in the round's tally.
 */
export async function playRound(waiting: readonly [Asked, ...Asked[]]): Promise<Round> {
  const [{ context }] = waiting;
  const tally = createTally(context.log);
  const named = waiting.flatMap(({ keys }) => (keys === "all" ? [] : keys));
  const keys = [...new Map(named.map((key) => [keyText(key), key])).values()];
  const isSweep = waiting.some((one) => one.keys === "all");
  if (isSweep) await finishAll(context, tally);
  const facts = await gatherFacts(context.cluster, isSweep ? {} : { about: keys });
  const asked = new Set(keys.map(keyText));
  const all = isSweep ? facts.graph.objects.map(keyOf).filter(isTemplateKind) : keys;
  if (isSweep) tally.count("templates", all.length);
  // A sweep sees the same templates over and over; only what changed with an event is worth telling people.
  await settle(context, all, facts, tally, (key) => asked.has(keyText(key)));
  return { keys: new Set(all.map(keyText)), tally, told: new Set() };
}

/** What a round made of these templates, for one of the events that waited for it. Throws where one of them failed. */
export function outcomeFor({ keys, tally, told }: Round, own: readonly ObjectKey[]): Outcome {
  const mine = new Set(own.map(keyText));
  // What is about no single template is everybody's.
  throwAny(tally.failures.filter(({ what }: Failure) => mine.has(what) || !keys.has(what)));
  const acts = tally.acts.filter((act) => mine.has(keyText(act.object)) && !told.has(act));
  for (const act of acts) told.add(act);
  return { acts, counts: tally.counts };
}

async function finishAll(context: Context, tally: Tally): Promise<void> {
  for (const copy of await listCopies(context, CONCERN)) {
    tally.done(await tally.try(keyText(keyOf(copy.body)), () => finish(context, copy)));
  }
}
