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

/**
 * Every resource that can be listed below `root`, each at the first version of its group that serves it, and every
 * version that does, in one request.
 *
 * @param root "/apis" for all groups, "/api" for the core group
 */
export async function discoverKinds(
  request: Request,
  root: "/api" | "/apis",
): Promise<{ readonly served: readonly ServedKind[]; readonly versions: readonly KindVersion[] }> {
  const answer = GroupList.safeParse(await request({ method: "GET", path: root, accept: AGGREGATED }, jsonOf));
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
