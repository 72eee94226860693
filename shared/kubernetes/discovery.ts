import { z } from "zod";
import { ClusterError, type ServedKind } from "../cluster.ts";
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
 * Every resource that can be listed below `root`, each at the first version of its group that serves it, in one request.
 *
 * @param root "/apis" for all groups, "/api" for the core group
 */
export async function discoverKinds(request: Request, root: "/api" | "/apis"): Promise<readonly ServedKind[]> {
  const answer = GroupList.safeParse(await request({ method: "GET", path: root, accept: AGGREGATED }, jsonOf));
  if (!answer.success) {
    throw new ClusterError("unavailable", "no aggregated discovery: the API server must be Kubernetes 1.27 or newer");
  }
  const kinds = new Map<string, ServedKind>();
  for (const { metadata, versions } of answer.data.items) {
    const group = metadata?.name ?? "";
    for (const { version, resources } of versions ?? []) {
      for (const { resource: plural, responseKind, scope, verbs } of resources ?? []) {
        const id = `${group}/${plural}`;
        if (!responseKind || !verbs?.includes("list") || kinds.has(id)) continue;
        kinds.set(id, { group, kind: responseKind.kind, version, plural, namespaced: scope === "Namespaced" });
      }
    }
  }
  return [...kinds.values()];
}
