import { z } from "zod";
import type { GroupKind } from "../../objects/object.ts";
import { ClusterError, type ServedKind } from "../cluster.ts";
import { isUnknownPath } from "./api-error.ts";
import { segment } from "./paths.ts";
import { jsonOf, type Request } from "./request.ts";

/** A DNS subdomain; what is none comes out of an event, and no API server has it. */
const GROUP_NAME = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;

/** meta.k8s.io/v1 APIGroup; its versions stand in the order of preference, as in aggregated discovery. */
const Group = z.looseObject({
  kind: z.literal("APIGroup"),
  versions: z.array(z.looseObject({ version: z.string() })),
});

/** meta.k8s.io/v1 APIResourceList, of one version. */
const ResourceList = z.looseObject({
  kind: z.literal("APIResourceList"),
  resources: z
    .array(
      z.looseObject({
        name: z.string(),
        kind: z.string(),
        namespaced: z.boolean(),
        verbs: z.array(z.string()).nullish(),
      }),
    )
    .nullable(),
});

/**
 * The resources of a group that can be listed, each at the first version that serves it, read version by version only
 * until `kind` is among them: two small answers for what most clusters serve at its preferred version, where the
 * discovery of all groups is a large one. Not for the core group.
 *
 * Undefined when the group does not serve the kind; that says nothing about a definition without a served version.
 */
export async function discoverUntil(
  request: Request,
  { group, kind }: GroupKind,
): Promise<readonly ServedKind[] | undefined> {
  if (!GROUP_NAME.test(group)) return undefined;
  const root = `/apis/${group}`;
  const found = new Map<string, ServedKind>();
  try {
    for (const { version } of (await readAs(Group, request, root)).versions) {
      const { resources } = await readAs(ResourceList, request, `${root}/${segment(version)}`);
      for (const { name, kind: itsKind, namespaced, verbs } of resources ?? []) {
        if (name.includes("/") || !verbs?.includes("list") || found.has(itsKind)) continue;
        found.set(itsKind, { group, version, kind: itsKind, plural: name, namespaced });
      }
      if (found.has(kind)) return [...found.values()];
    }
    return undefined;
  } catch (error) {
    // The group has gone, or a version of it since it was asked.
    if (isUnknownPath(error)) return undefined;
    throw error;
  }
}

async function readAs<Result>(schema: z.ZodType<Result>, request: Request, path: string): Promise<Result> {
  const answer = schema.safeParse(await request({ method: "GET", path }, jsonOf));
  if (answer.success) return answer.data;
  throw new ClusterError("unavailable", `GET ${path}: the answer is no discovery`);
}
