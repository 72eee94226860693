import { failedWith } from "../cluster/cluster.ts";
import {
  FIELD_MANAGER,
  HOLD,
  NEEDED_BY,
  RENEWED_AT,
  RETIRED_AT,
  RETIRED_BY,
  RETIRED_LABEL,
  retiredSince,
  timestamp,
  UNNEEDED_SINCE,
} from "../marks/marks.ts";
import { groupOf, type KubeObject, keyOf, keyText, type OwnerReference } from "../objects/object.ts";
import type { Context } from "./context.ts";
import { type ComesBackAs, type Copy, removeCopy, saveCopy } from "./copies.ts";

/**
 * Creates again an object that is gone, from `copy.body`: first the copy is made to last, then the object is created
 * with hold and marks, then its managedFields are given back (in a patch of their own, as `clusterctl move` does: an
 * owner that applies server-side would else conflict with us), then the copy goes. After a crash between any two of
 * these `finishCopy` takes over.
 *
 * Returns the object, or undefined when something else already stands under its name.
 */
export async function recreate(context: Context, copy: Copy): Promise<KubeObject | undefined> {
  await saveCopy(context, copy);
  return createFromCopy(context, copy);
}

/** The steps of `recreate` after the copy was made. */
export async function createFromCopy(context: Context, copy: Copy): Promise<KubeObject | undefined> {
  const owners = await livingOwners(context, copy.body);
  try {
    const created = await context.cluster.create(bodyToCreate(copy.body, copy.as, owners, context.now()));
    await giveBackManagedFields(context, created, copy.body);
    await removeCopy(context, keyOf(copy.body));
    return created;
  } catch (error) {
    if (!failedWith(error, "already-exists")) throw error;
    await removeCopy(context, keyOf(copy.body));
    return undefined;
  }
}

/** The body for a create: without what only the server writes, with hold and marks. */
export function bodyToCreate(
  body: KubeObject,
  as: ComesBackAs,
  owners: readonly OwnerReference[],
  now: Temporal.Instant,
): KubeObject {
  const { status: _, metadata, ...rest } = body;
  const { name, namespace, labels, annotations } = metadata;
  const { [RETIRED_LABEL]: _label, ...keptLabels } = labels ?? {};
  const {
    [RETIRED_AT]: _at,
    [RETIRED_BY]: by,
    [UNNEEDED_SINCE]: _unneeded,
    [NEEDED_BY]: _witnesses,
    ...keptAnnotations
  } = annotations ?? {};
  const retiredMarks = {
    [RETIRED_AT]: timestamp(retiredSince(body) ?? now),
    ...(by !== undefined && { [RETIRED_BY]: by }),
  };
  const marks = as === "retired" ? retiredMarks : { [RENEWED_AT]: timestamp(now) };
  return {
    ...rest,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: as === "retired" ? { ...keptLabels, [RETIRED_LABEL]: "true" } : keptLabels,
      annotations: { ...keptAnnotations, ...marks },
      finalizers: [HOLD],
      ...(owners.length > 0 && { ownerReferences: [...owners] }),
    },
  };
}

/** Whether an object that we created still waits for its managedFields: we own its spec, which nobody gave us. */
export function lacksManagedFields(object: KubeObject): boolean {
  return (object.metadata.managedFields ?? []).some((entry) => {
    const fields = entry.fieldsV1;
    return entry.manager === FIELD_MANAGER && typeof fields === "object" && fields !== null && "f:spec" in fields;
  });
}

/** Puts the managedFields of `body` on the live object; nothing to do where `body` has none. */
export async function giveBackManagedFields({ cluster }: Context, live: KubeObject, body: KubeObject): Promise<void> {
  const managedFields = body.metadata.managedFields ?? [];
  if (managedFields.length > 0) await cluster.patch(live, { metadata: { managedFields } });
}

async function livingOwners(context: Context, body: KubeObject): Promise<readonly OwnerReference[]> {
  const references = body.metadata.ownerReferences ?? [];
  const living = await Promise.all(references.map((owner) => isLiving(context, owner, body.metadata.namespace ?? "")));
  return references.filter((_, index) => living[index]);
}

async function isLiving({ cluster, log }: Context, owner: OwnerReference, namespace: string): Promise<boolean> {
  const key = { group: groupOf(owner.apiVersion), kind: owner.kind, namespace, name: owner.name };
  try {
    return (await cluster.get(key))?.metadata.uid === owner.uid;
  } catch (error) {
    if (!failedWith(error, "forbidden")) throw error;
    // With a reference to an owner that may be dead the object would be collected at once; without it, it stays.
    log.warn({ owner: keyText(key), err: error }, "owner cannot be read, its reference is left out");
    return false;
  }
}
