import { FIELD_MANAGER } from "../../marks/marks.ts";
import { groupKindText, isTerminating, type KubeObject, keyOf, keyText } from "../../objects/object.ts";
import { isRecord } from "../../objects/path.ts";
import { ClusterError, type MergePatch, type ServedKind } from "../cluster.ts";
import type { Kinds } from "./kinds.ts";
import { readObject } from "./list.ts";
import { collectionPath, objectPath, query } from "./paths.ts";
import { jsonOf, type Request } from "./request.ts";

/** See `Cluster.patch`. */
export async function patchObject(
  request: Request,
  kinds: Kinds,
  object: KubeObject,
  patch: MergePatch,
): Promise<KubeObject | undefined> {
  const metadata = { ...(isRecord(patch.metadata) && patch.metadata), ...preconditionsOf(object) };
  const answered = await onServed(kinds, object, async (served) => {
    const path = objectPath(served, keyOf(object)) + query({ fieldManager: FIELD_MANAGER });
    const contentType = "application/merge-patch+json";
    return request({ method: "PATCH", path, contentType, body: { ...patch, metadata } }, jsonOf);
  });
  const after = readObject(answered);
  const isGone = isTerminating(after) && (after.metadata.finalizers ?? []).length === 0;
  return isGone ? undefined : after;
}

/** See `Cluster.create`. */
export async function createObject(
  request: Request,
  kinds: Kinds,
  object: KubeObject,
  isDryRun: boolean,
): Promise<KubeObject> {
  const answered = await onServed(kinds, object, async (served) => {
    const options = query({ fieldManager: FIELD_MANAGER, dryRun: isDryRun ? "All" : undefined });
    const path = collectionPath(served, keyOf(object).namespace) + options;
    return request({ method: "POST", path, body: object }, jsonOf);
  });
  return readObject(answered);
}

/** See `Cluster.delete`. */
export async function deleteObject(request: Request, kinds: Kinds, object: KubeObject): Promise<void> {
  const preconditions = preconditionsOf(object);
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions, propagationPolicy: "Background" };
  await onServed(kinds, object, async (served) => {
    return request({ method: "DELETE", path: objectPath(served, keyOf(object)), body }, jsonOf);
  });
}

function preconditionsOf(object: KubeObject): { readonly uid: string; readonly resourceVersion: string } {
  const { uid, resourceVersion } = object.metadata;
  if (uid !== undefined && resourceVersion !== undefined) return { uid, resourceVersion };
  throw new ClusterError("invalid", `${keyText(keyOf(object))} has no uid and resourceVersion: it was never read`);
}

/** Writes at the object's own version, because what is written was made from that one. */
async function onServed(
  kinds: Kinds,
  object: KubeObject,
  write: (served: ServedKind) => Promise<unknown>,
): Promise<unknown> {
  const key = keyOf(object);
  const version = object.apiVersion.slice(object.apiVersion.indexOf("/") + 1);
  const answered = await kinds.on(key, (served) => write({ ...served, version }), undefined);
  if (answered !== undefined) return answered;
  throw new ClusterError("not-found", `${groupKindText(key)} is not served`);
}
