import { type Context, type Handle, NOTHING, type Outcome } from "../../shared/context.ts";
import { findCopy, listCopies } from "../../shared/copies.ts";
import { gatherFacts } from "../../shared/facts.ts";
import { isLookedAt } from "../../shared/in-namespaces.ts";
import { isTemplateKind } from "../../shared/kinds.ts";
import { isOptedOut, isRetired, RETIRED_LABEL } from "../../shared/marks.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../shared/object.ts";
import { lacksManagedFields } from "../../shared/recreate.ts";
import { createTally } from "../../shared/tally.ts";
import { unlessForbidden } from "../../shared/unless-forbidden.ts";
import { finish } from "./finish.ts";
import { freesTemplates, templatesNamed } from "./named.ts";
import { settle } from "./settle.ts";
import { CONCERN } from "./terms.ts";

/** Keeps, renews or lets go the retired templates that a change bears on; a sweep looks at all of them. */
export const handle: Handle = async (context, change) => {
  if (change.type === "own-reply") return NOTHING;
  if (change.type === "sweep") return sweep(context);
  const tally = createTally(context.log);
  const freed = freesTemplates(change, context.now()) ? await retiredOnes(context, change.object) : [];
  const keys = [...freed];
  for (const key of templatesNamed(change.object).filter((one) => isLookedAt(one.namespace, context.settings))) {
    const live = await unlessForbidden(context.cluster.get(key));
    if (live === "forbidden") {
      context.log.warn({ template: keyText(key) }, "template cannot be read; add its provider's component");
      continue;
    }
    if (live === undefined || lacksManagedFields(live)) {
      tally.done(await tally.try(keyText(key), async () => finish(context, await findCopy(context, key))));
    }
    if (live !== undefined && (isRetired(live) || isOptedOut(live))) keys.push(key);
  }
  if (keys.length > 0) await settle(context, keys, await gatherFacts(context.cluster), tally, true);
  return tally.outcome();
};

async function sweep(context: Context): Promise<Outcome> {
  const tally = createTally(context.log);
  for (const copy of await listCopies(context, CONCERN)) {
    tally.done(await tally.try(keyText(keyOf(copy.body)), () => finish(context, copy)));
  }
  const facts = await gatherFacts(context.cluster);
  const templates = facts.graph.objects.map(keyOf).filter(isTemplateKind);
  tally.count("templates", templates.length);
  // A sweep sees the same templates over and over; only what changed with an event is worth telling people.
  await settle(context, templates, facts, tally, false);
  return tally.outcome();
}

/** The retired templates in the namespace of a Cluster, by their label alone. */
async function retiredOnes({ cluster }: Context, { metadata }: KubeObject): Promise<readonly ObjectKey[]> {
  const namespace = metadata.namespace ?? "";
  const { served } = await cluster.discover();
  const keys: ObjectKey[] = [];
  for (const kind of served.filter(isTemplateKind)) {
    const retired = await unlessForbidden(cluster.list(kind, { label: RETIRED_LABEL, namespace, metadataOnly: true }));
    if (retired !== "forbidden") keys.push(...retired.map(keyOf));
  }
  return keys;
}
