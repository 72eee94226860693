import { type Act, type Context, type Handle, NOTHING } from "../../shared/context.ts";
import { type Copy, findCopy, listCopies } from "../../shared/copies.ts";
import { gatherFacts } from "../../shared/facts.ts";
import { finishCopy } from "../../shared/finish-copies.ts";
import { isTemplateKind } from "../../shared/kinds.ts";
import { isOptedOut, isRetired, RETIRED_LABEL } from "../../shared/marks.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../shared/object.ts";
import { lacksManagedFields } from "../../shared/recreate.ts";
import { freesTemplates, templatesNamed } from "./named.ts";
import { settle } from "./settle.ts";
import { CONCERN } from "./terms.ts";

/** Keeps, renews or lets go the retired templates that a change bears on; a sweep looks at all of them. */
export const handle: Handle = async (context, change) => {
  if (change.type === "own-reply") return NOTHING;
  if (change.type === "sweep") return sweep(context);
  const finished: Act[] = [];
  const keys: ObjectKey[] = freesTemplates(change, context.now())
    ? [...(await retiredOnes(context, change.object))]
    : [];
  for (const key of templatesNamed(change.object)) {
    const live = await context.cluster.get(key);
    if (live === undefined || lacksManagedFields(live))
      finished.push(...(await finish(context, await findCopy(context, key))));
    if (live !== undefined && (isRetired(live) || isOptedOut(live))) keys.push(key);
  }
  if (keys.length === 0) return { acts: finished, counts: {} };
  const outcome = await settle(context, keys, await gatherFacts(context.cluster), false);
  return { ...outcome, acts: [...finished, ...outcome.acts] };
};

async function sweep(context: Context) {
  const finished: Act[] = [];
  for (const copy of await listCopies(context, CONCERN)) finished.push(...(await finish(context, copy)));
  const facts = await gatherFacts(context.cluster);
  const templates = facts.graph.objects.map(keyOf).filter(isTemplateKind);
  const { acts, counts } = await settle(context, templates, facts, true);
  return {
    acts: [...finished, ...acts],
    counts: { templates: templates.length, finished: finished.length, ...counts },
  };
}

/** Finishes a renewal or a return that was cut short. */
async function finish(context: Context, copy: Copy | undefined): Promise<readonly Act[]> {
  if (copy === undefined || copy.concern !== CONCERN) return [];
  const back = await finishCopy(context, copy, () => gatherFacts(context.cluster));
  return back === undefined ? [] : [{ noun: "template", done: "restored", object: keyOf(back), because: "needed" }];
}

/** The retired templates in the namespace of a Cluster, by their label alone. */
async function retiredOnes({ cluster }: Context, { metadata }: KubeObject): Promise<readonly ObjectKey[]> {
  const namespace = metadata.namespace ?? "";
  const { served } = await cluster.discover();
  const keys: ObjectKey[] = [];
  for (const kind of served.filter(isTemplateKind)) {
    const retired = await cluster.list(kind, { label: RETIRED_LABEL, namespace, metadataOnly: true });
    keys.push(...retired.map(keyOf));
  }
  return keys;
}
