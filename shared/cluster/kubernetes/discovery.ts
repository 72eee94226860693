import { z } from "zod";
import { ClusterError, type KindVersion, type ServedKind } from "../cluster.ts";
import { jsonOf, type Request } from "./request.ts";

const AGGREGATED = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(",");

const Resource = z.looseObject({
  resource: z.string(),
  responseKind: z.looseObject({ kind: z.string() }).nullish(),
  scope: z.string(),
  verbs: z.array(z.string()).nullish(),
});

const Version = z.looseObject({
  version: z.string(),
  freshness: z.string().optional(),
  resources: z.array(Resource).nullish(),
});

/** apidiscovery.k8s.io APIGroupDiscoveryList; a group's versions stand in the order of preference. */
const GroupList = z.looseObject({
  kind: z.literal("APIGroupDiscoveryList"),
  items: z.array(
    z.looseObject({
      metadata: z.looseObject({ name: z.string().optional() }).nullish(),
      versions: z.array(Version).nullish(),
    }),
  ),
});

/** What a root serves, with the ETag by which it can be asked again for little. */
export interface Served {
  readonly served: readonly ServedKind[];
  readonly versions: readonly KindVersion[];
  readonly etag: string | undefined;
}

/**
 * Every resource that can be listed below `root`, each at the first version of its group that serves it, and every
 * version that does, in one request. What was `last` read is returned as it is where the server says that it still holds
 * (k8s.io/apiserver pkg/endpoints/discovery/aggregated/etag.go).
 *
 * @param root "/apis" for all groups, "/api" for the core group
 */
export async function discoverKinds(request: Request, root: "/api" | "/apis", last?: Served): Promise<Served> {
  const unless = last?.etag;
  const call = { method: "GET", path: root, accept: AGGREGATED, ...(unless !== undefined && { unless }) } as const;
  return request(call, async (response) => {
    if (response.statusCode === 304 && last !== undefined) {
      response.resume();
      return last;
    }
    return { ...readServed(await jsonOf(response)), etag: response.headers.etag };
  });
}

function readServed(body: unknown): Omit<Served, "etag"> {
  const answer = GroupList.safeParse(body);
  if (!answer.success) {
    throw new ClusterError("unavailable", "no aggregated discovery: the API server must be Kubernetes 1.27 or newer");
  }
  const listable = answer.data.items.flatMap(listableIn);
  const served = new Map<string, ServedKind>();
  for (const one of listable) {
    const id = `${one.group}/${one.plural}`;
    if (!served.has(id)) served.set(id, one);
  }
  const versions = listable.map(({ group, version, kind }) => {
    return { apiVersion: group === "" ? version : `${group}/${version}`, kind };
  });
  return { served: [...served.values()], versions };
}

function listableIn({ metadata, versions }: z.infer<typeof GroupList>["items"][number]): readonly ServedKind[] {
  const group = metadata?.name ?? "";
  return (versions ?? []).flatMap(({ version, resources }) =>
    (resources ?? []).flatMap(({ resource: plural, responseKind, scope, verbs }) => {
      if (!responseKind || !verbs?.includes("list")) return [];
      return [{ group, kind: responseKind.kind, version, plural, namespaced: scope === "Namespaced" }];
    }),
  );
}
