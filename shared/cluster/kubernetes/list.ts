import { z } from "zod";
import { isKubeObject } from "../../objects/is-kube-object.ts";
import { KubeObject } from "../../objects/object.ts";
import { isRecord } from "../../objects/path.ts";
import { anewWhenExpired } from "../anew-when-expired.ts";
import { ClusterError, failedWith, type ListOptions, type ServedKind } from "../cluster.ts";
import { collectEarly } from "./collect-early.ts";
import { type ListBody, readListBody } from "./list-body.ts";
import { collectionPath, query } from "./paths.ts";
import { jsonIn, type Request } from "./request.ts";
import { createSpace } from "./space.ts";

const PAGE = "500";
/** Objects that are read at once: few enough to be gone before they count as old. */
const AT_A_TIME = 20;
const TIMEOUT_MS = 60_000;
/** Metadata alone where the server can, whole objects where an aggregated one cannot. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

const Envelope = z.looseObject({
  metadata: z.looseObject({ continue: z.string().optional() }).nullish(),
  items: z.array(z.never()).nullable(),
});

/**
 * All objects of a served kind as they are now (never from the server's cache of an older state), page by page.
 *
 * Throws ClusterError "forbidden", "unavailable" or "not-found", never an empty list in place of one that failed.
 */
export async function listObjects(
  request: Request,
  kind: ServedKind,
  options: ListOptions = {},
): Promise<readonly KubeObject[]> {
  try {
    return await anewWhenExpired(async () => (await Array.fromAsync(pagesOf(request, kind, options))).flat());
  } catch (error) {
    if (!failedWith(error, "expired")) throw error;
    throw new ClusterError("unavailable", `${kind.plural} change faster than they can be listed`, { cause: error });
  }
}

/**
 * The same, page by page, each read when it is asked for. Throws "expired" where a page is not to be had any more, since
 * a list begun anew would tell what was told already.
 */
export async function* pagesOf(
  request: Request,
  kind: ServedKind,
  { metadataOnly = false, withoutManagedFields = false, label, namespace }: ListOptions = {},
): AsyncGenerator<readonly KubeObject[]> {
  collectEarly();
  const space = createSpace();
  let next: string | undefined;
  do {
    const path = collectionPath(kind, namespace) + query({ limit: PAGE, labelSelector: label, continue: next });
    const call = { method: "GET", path, ...(metadataOnly && { accept: METADATA_ONLY }) } as const;
    const body = await request(call, async (response) => listBodyIn(await space.fill(response)), TIMEOUT_MS);
    const page = Envelope.safeParse(body.envelope);
    if (!page.success) throw new ClusterError("unavailable", `the answer for ${kind.plural} is no list`);
    next = page.data.metadata?.continue || undefined;
    const { count = 0 } = body;
    for (let from = 0; from < count; from += AT_A_TIME) yield objectsIn(body, from, kind, withoutManagedFields);
  } while (next !== undefined);
}

function listBodyIn(body: Buffer): ListBody {
  return jsonIn(() => readListBody(body));
}

function objectsIn(
  { items }: ListBody,
  from: number,
  kind: ServedKind,
  withoutManagedFields: boolean,
): readonly KubeObject[] {
  return jsonIn(() => items(from, from + AT_A_TIME, withoutManagedFields)).map((item) => {
    if (isRecord(item)) return typed(item, kind);
    throw new ClusterError("unavailable", `the answer for ${kind.plural} is no list of objects`);
  });
}

// Items of a list do not say what they are, and metadata alone says it is PartialObjectMetadata.
function typed(item: object, { group, version, kind }: ServedKind): KubeObject {
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return readObject(Object.assign(item, { apiVersion, kind }));
}

/** Checks what the server sent. Throws ClusterError "unavailable" for what is no object. */
export function readObject(value: unknown): KubeObject {
  if (isKubeObject(value)) return value;
  const object = KubeObject.safeParse(value);
  if (object.success) return object.data;
  throw new ClusterError("unavailable", `the API server's answer is no object: ${z.prettifyError(object.error)}`);
}
