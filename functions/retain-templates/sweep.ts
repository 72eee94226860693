import type { Context, Outcome } from "../../shared/acts/context.ts";
import { createTally, type Tally } from "../../shared/acts/tally.ts";
import { failedWith } from "../../shared/cluster/cluster.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { type GroupKind, groupKindText, type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { decide } from "./decide.ts";
import { unfinishedRestores } from "./restore.ts";
import { settle } from "./settle.ts";
import { warnOfUnserved } from "./warn-unserved.ts";

/**
 * Finishes what was cut short, looks at every template once, one list per kind, metadata alone, and warns of event
 * sources that watch what is not served. What fails does not stop the rest.
 *
 * Throws an AggregateError at the end when anything failed.
 */
export async function sweep(context: Context): Promise<Outcome> {
  const tally = createTally(context.log);
  for (const [key, finish] of await unfinishedRestores(context)) tally.done(await tally.try(keyText(key), finish));
  const discovery = await context.cluster.discover();
  for (const kind of discovery.served.filter(isTemplateKind)) {
    const templates = await tally.try(groupKindText(kind), () => listOf(context, kind, tally));
    tally.count("templates", templates?.length ?? 0);
    for (const template of templates ?? []) {
      if (decide(template).verdict === "leave") continue;
      tally.done(await tally.try(keyText(keyOf(template)), () => settle(context, keyOf(template), template)));
    }
  }
  await tally.try("event sources", () => warnOfUnserved(context, discovery, tally));
  return tally.outcome();
}

/** The templates of a kind; none, and said so, where no component grants it: trying again would not help. */
async function listOf({ cluster, log }: Context, kind: GroupKind, tally: Tally): Promise<readonly KubeObject[]> {
  try {
    return await cluster.list(kind, { metadataOnly: true });
  } catch (error) {
    if (!failedWith(error, "forbidden")) throw error;
    log.warn({ kind: groupKindText(kind), err: error }, "kind cannot be read; add its provider's component");
    tally.count("unread-kinds");
    return [];
  }
}
