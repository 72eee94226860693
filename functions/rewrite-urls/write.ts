import type { Context } from "../../shared/acts/context.ts";
import { onObject } from "../../shared/acts/retry.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import type { UrlChange } from "./findings.ts";
import { earlierOwners, givenBack, ownersOf } from "./managed-fields.ts";
import { OUR_ANNOTATIONS, REWRITE_RECORD, REWRITTEN_FROM, type RewriteRecord, recordOf } from "./record.ts";
import { patchBetween, stringsUnder, withString } from "./strings.ts";

type Annotations = Readonly<Record<string, string | null>>;

/**
 * Writes URLs and gives their fields back to those who owned them, in two patches: one alone would leave them with us,
 * and the next server-side apply of their owner would fail with a conflict. Until the second is done the record on the
 * object tells who they were, so that `finishGivingBack` can take over after a crash.
 *
 * @param live as it was just read; a conflict is thrown, for the decision may be another then
 * @param annotations written along with the URLs; the record is added to them
 */
export async function writeUrls(
  context: Context,
  live: KubeObject,
  changes: readonly UrlChange[],
  annotations: Annotations,
): Promise<void> {
  const urls = new Map(changes.map(({ path, to }) => [path, to]));
  const places = stringsUnder(live, "spec").filter(({ path }) => urls.has(path));
  const spec = places.reduce<unknown>(
    (value, { steps: [, ...below], path, value: old }) => withString(value, below, urls.get(path) ?? old),
    live.spec,
  );
  const before = recordOf(live);
  const record: RewriteRecord = {
    wrote: { ...before?.wrote, ...Object.fromEntries(urls) },
    owners: [...earlierOwners(before?.owners ?? [], ownersOf(live, { ...live, spec }, places))],
  };
  const marks = { ...annotations, [REWRITE_RECORD]: JSON.stringify(record) };
  const values = patchBetween({ spec: live.spec }, { spec });
  const written = await context.cluster.patch(live, { ...values, metadata: { annotations: marks } });
  if (written !== undefined) await finishGivingBack(context, written);
}

/** Whether fields that we wrote still wait to be given back. */
export function owesFields(object: KubeObject): boolean {
  return recordOf(object)?.owners !== undefined;
}

/** Gives fields back that we wrote and still own, whoever began it. Nothing to do where none are owed. */
export async function finishGivingBack(context: Context, seen: KubeObject): Promise<void> {
  await onObject(
    context.cluster,
    keyOf(seen),
    async (live) => {
      const metadata = metadataGivenBack(live);
      if (metadata !== undefined) await context.cluster.patch(live, { metadata });
    },
    seen,
  );
}

/** The metadata that settles what we owe, undefined where we owe nothing. */
function metadataGivenBack(live: KubeObject): Record<string, unknown> | undefined {
  const record = recordOf(live);
  if (record?.owners === undefined) return undefined;
  const { owners, wrote } = record;
  const places = stringsUnder(live, "spec").filter(({ path }) => path in wrote);
  const managedFields = givenBack(live, owners, places);
  return {
    annotations: annotationsLeft(live, { wrote }),
    ...(live.metadata.managedFields?.length && { managedFields }),
  };
}

/** Once nothing of ours is in the object any more, its annotations are what they were before us. */
function annotationsLeft(live: KubeObject, record: RewriteRecord): Annotations | null {
  const annotations = live.metadata.annotations ?? {};
  if (annotations[REWRITTEN_FROM] !== undefined) return { [REWRITE_RECORD]: JSON.stringify(record) };
  const isOurs = (name: string) => OUR_ANNOTATIONS.some((one) => one === name);
  if (Object.keys(annotations).every(isOurs)) return null;
  return Object.fromEntries(OUR_ANNOTATIONS.map((name) => [name, null]));
}
