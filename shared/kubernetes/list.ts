import { z } from "zod";
import { ClusterError, failedWith, type ListOptions, type ServedKind } from "../cluster.ts";
import { isKubeObject } from "../is-kube-object.ts";
import { KubeObject } from "../object.ts";
import { isRecord } from "../path.ts";
import { collectionPath, query } from "./paths.ts";
import { jsonOf, type Request } from "./request.ts";

const PAGE = "500";
const TIMEOUT_MS = 60_000;
/** How often a list whose pages expired in between is begun anew. */
const RESTARTS = 3;
/** Metadata alone where the server can, whole objects where an aggregated one cannot. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

const Page = z.looseObject({
  metadata: z.looseObject({ continue: z.string().optional() }).nullish(),
  items: z.array(z.custom<object>(isRecord)).nullable(),
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
  for (let restarts = 0; ; restarts += 1) {
    try {
      return (await Array.fromAsync(pagesOf(request, kind, options))).flat();
    } catch (error) {
      if (!failedWith(error, "expired")) throw error;
      if (restarts === RESTARTS) {
        throw new ClusterError("unavailable", `${kind.plural} change faster than they can be listed`, { cause: error });
      }
    }
  }
}

/**
 * The same, page by page, each read when it is asked for. Throws "expired" where a page is not to be had any more, since
 * a list begun anew would tell what was told already.
 */
export async function* pagesOf(
  request: Request,
  kind: ServedKind,
  { metadataOnly = false, label, namespace }: ListOptions = {},
): AsyncGenerator<readonly KubeObject[]> {
  let next: string | undefined;
  do {
    const path = collectionPath(kind, namespace) + query({ limit: PAGE, labelSelector: label, continue: next });
    const call = { method: "GET", path, ...(metadataOnly && { accept: METADATA_ONLY }) } as const;
    const page = Page.safeParse(await request(call, jsonOf, TIMEOUT_MS));
    if (!page.success) throw new ClusterError("unavailable", `the answer for ${kind.plural} is no list`);
    next = page.data.metadata?.continue || undefined;
    yield (page.data.items ?? []).map((item) => typed(item, kind));
  } while (next !== undefined);
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
