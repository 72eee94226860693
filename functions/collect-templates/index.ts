import { type Context, type Handle, NOTHING, type Outcome } from "../../shared/acts/context.ts";
import { createTally } from "../../shared/acts/tally.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { isLookedAt } from "../../shared/cluster/in-namespaces.ts";
import { unlessForbidden } from "../../shared/cluster/unless-forbidden.ts";
import { atMost } from "../../shared/concurrency/at-most.ts";
import { shareRuns, shareRunsById } from "../../shared/concurrency/share-runs.ts";
import type { Change } from "../../shared/events/change.ts";
import { RETIRED_LABEL } from "../../shared/marks/marks.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/objects/object.ts";
import { type Considered, consider } from "./consider.ts";
import { freesTemplates, templatesNamed } from "./events.ts";
import { type Asked, outcomeFor, playRound, type Round } from "./rounds.ts";

/** Reads of single objects at once, on behalf of one event. */
const AT_ONCE = 8;

/** Keeps, renews or lets go the retired templates that a change bears on; a sweep looks at all of them. */
export const handle: Handle = async (context, change) => {
  if (change.type === "own-reply") return NOTHING;
  const { ask, lookFor } = sharedOn(context.cluster);
  if (change.type === "sweep") return (await lookFor({ context, keys: "all" })).tally.outcome();
  const tally = createTally(context.log);
  const freed = freesTemplates(change, context.now()) ? await retiredOnes(context, change.object) : [];
  const named = templatesNamed(change.object).filter((one) => isLookedAt(one.namespace, context.settings));
  const keys = [...new Map([...freed, ...named].map((key) => [keyText(key), key])).values()];
  const considered = await atMost(AT_ONCE, keys, async (key) => {
    const one = await tally.try(keyText(key), () => ask(keyText(key), { context, key, change }));
    tally.done(one?.act);
    return { key, takesLook: one?.takesLook ?? false };
  });
  const open = considered.filter(({ takesLook }) => takesLook).map(({ key }) => key);
  if (open.length === 0) return tally.outcome();
  const { acts, counts } = outcomeFor(await lookFor({ context, keys: open }), open);
  const before = tally.outcome();
  return { acts: [...before.acts, ...acts], counts: { ...before.counts, ...counts } } satisfies Outcome;
};

interface Named {
  readonly context: Context;
  readonly key: ObjectKey;
  readonly change: Change & { readonly type: "object" };
}

interface Shared {
  /** Considers a template once for all events that name it and wait. */
  readonly ask: (id: string, named: Named) => Promise<Considered>;
  readonly lookFor: (asked: Asked) => Promise<Round>;
}

const shared = new WeakMap<Cluster, Shared>();

/** Events of one process share what they ask of one cluster. */
function sharedOn(cluster: Cluster): Shared {
  const known = shared.get(cluster);
  if (known !== undefined) return known;
  const made: Shared = {
    ask: shareRunsById(async (_, [first, ...more]: readonly [Named, ...Named[]]) => {
      const hints = [first, ...more]
        .filter(({ change }) => change.action !== "delete")
        .map(({ change }) => change.object);
      return consider(first.context, first.key, hints);
    }),
    lookFor: shareRuns(playRound),
  };
  shared.set(cluster, made);
  return made;
}

/** The retired templates in the namespace of a Cluster, by their label alone. */
async function retiredOnes({ cluster }: Context, { metadata }: KubeObject): Promise<readonly ObjectKey[]> {
  const namespace = metadata.namespace ?? "";
  const { served } = await cluster.discover();
  const options = { label: RETIRED_LABEL, namespace, metadataOnly: true };
  const lists = await atMost(AT_ONCE, served.filter(isTemplateKind), (kind) =>
    unlessForbidden(cluster.list(kind, options)),
  );
  return lists.flatMap((retired) => (retired === "forbidden" ? [] : retired.map(keyOf)));
}
