import { createHash } from "node:crypto";
import { z } from "zod";
import { failedWith } from "../cluster/cluster.ts";
import { type GroupKind, KubeObject, keyOf, keyText, type ObjectKey } from "../objects/object.ts";
import type { Context } from "./context.ts";

const CONFIG_MAP: GroupKind = { group: "", kind: "ConfigMap" };
/** On each copy, with the concern that made it, so that the copies can be listed alone. */
const COPY_LABEL = "capi-caretaker.io/copy-of";

/** As what an object comes back: as one whose owner asked for its deletion, or as one that is wanted again. */
export type ComesBackAs = "retired" | "renewed";

/** A lasting copy of an object about to be created again: all that a later try needs after a crash. */
export interface Copy {
  /** The concern that made it and finishes the job. */
  readonly concern: string;
  readonly as: ComesBackAs;
  /** The object as it last was, its uid included. */
  readonly body: KubeObject;
}

const StoredCopy = z.looseObject({
  metadata: z.looseObject({ labels: z.looseObject({ [COPY_LABEL]: z.string() }) }),
  data: z.object({ body: z.string(), as: z.enum(["retired", "renewed"]) }),
});

/** Stores the copy as a ConfigMap in our own namespace, in the place of an older copy of the same object. */
export async function saveCopy({ cluster, settings }: Context, copy: Copy): Promise<void> {
  const key = copyKey(settings.ownNamespace, keyOf(copy.body));
  const labels = { [COPY_LABEL]: copy.concern, "app.kubernetes.io/managed-by": "capi-caretaker" };
  const data = { body: JSON.stringify(copy.body), as: copy.as };
  const { name, namespace } = key;
  try {
    await cluster.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels }, data });
  } catch (error) {
    if (!failedWith(error, "already-exists")) throw error;
    const older = await cluster.get(key);
    if (older !== undefined) await cluster.patch(older, { metadata: { labels }, data });
  }
}

/** The copy of an object, undefined where there is none. */
export async function findCopy(context: Context, of: ObjectKey): Promise<Copy | undefined> {
  const stored = await context.cluster.get(copyKey(context.settings.ownNamespace, of));
  return stored === undefined ? undefined : readCopy(context, stored);
}

/** Every copy that `concern` made and did not finish with. */
export async function listCopies(context: Context, concern: string): Promise<readonly Copy[]> {
  const { ownNamespace } = context.settings;
  const stored = await context.cluster.list(CONFIG_MAP, { namespace: ownNamespace, label: COPY_LABEL });
  return stored.flatMap((one) => readCopy(context, one) ?? []).filter((copy) => copy.concern === concern);
}

/** Removes the copy; nothing to do where it is gone. */
export async function removeCopy({ cluster, settings }: Context, of: ObjectKey): Promise<void> {
  const stored = await cluster.get(copyKey(settings.ownNamespace, of));
  if (stored === undefined) return;
  try {
    await cluster.delete(stored);
  } catch (error) {
    if (!failedWith(error, "not-found", "conflict")) throw error;
  }
}

// Names of objects can be as long as those of ConfigMaps, so a copy is named by a hash of what it is a copy of.
function copyKey(namespace: string, of: ObjectKey): ObjectKey {
  const digest = createHash("sha256").update(keyText(of)).digest("hex").slice(0, 32);
  return { ...CONFIG_MAP, namespace, name: `copy-${digest}` };
}

/** The copy in a ConfigMap; undefined, and said so in the log, where somebody damaged it. */
function readCopy({ log }: Context, stored: KubeObject): Copy | undefined {
  try {
    const { metadata, data } = StoredCopy.parse(stored);
    return { concern: metadata.labels[COPY_LABEL], as: data.as, body: KubeObject.parse(JSON.parse(data.body)) };
  } catch (error) {
    log.error({ copy: stored.metadata.name, err: error }, "copy cannot be read, it is left as it is");
    return undefined;
  }
}
