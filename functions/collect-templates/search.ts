import type { Context } from "../../shared/acts/context.ts";
import { failedWith, type ServedKind } from "../../shared/cluster/cluster.ts";
import { mayRefer, metadataSuffices } from "../../shared/graph/references.ts";
import { reachOf } from "../../shared/look/reach.ts";
import { CORE, isSpecReader, isTemplateKind } from "../../shared/objects/kinds.ts";
import type { KubeObject, ObjectKey } from "../../shared/objects/object.ts";
import { byExpectedLife, provesNeed } from "./witness.ts";

/**
 * Looks for witnesses that a template is needed, where there are fewest objects to read first, page by page, and ends with
 * the first page that holds one. Returns that page's, best first; none proves nothing, since what could not be read is
 * passed over here: only a full look can tell that a template is unneeded.
 */
export async function searchWitnesses(
  { cluster }: Pick<Context, "cluster">,
  template: ObjectKey,
): Promise<readonly KubeObject[]> {
  const { served } = await cluster.discover();
  const { namespace } = template;
  const kinds = reachOf([template], served)
    .map(({ kind }) => kind)
    .filter((kind) => mayRefer(kind, template) && !isMachine(kind));
  for (const kind of [...new Set(kinds)].toSorted((a, b) => costOf(a) - costOf(b))) {
    try {
      for await (const page of cluster.pages(kind, { namespace, metadataOnly: metadataSuffices(kind) })) {
        const found = page.filter((one) => provesNeed(one, template)).toSorted(byExpectedLife);
        if (found.length > 0) return found;
      }
    } catch (error) {
      if (!failedWith(error, "forbidden", "unavailable", "not-found", "invalid", "expired")) throw error;
    }
  }
  return [];
}

/** Owner specs are few to a cluster; clones tell by their metadata alone. */
function costOf(kind: ServedKind): number {
  if (isSpecReader(kind) || isTemplateKind(kind)) return 0;
  return metadataSuffices(kind) ? 1 : 2;
}

/** Machines are many, and name what was cloned from a template, not the template. */
function isMachine({ group, kind }: ServedKind): boolean {
  return group === CORE && kind === "Machine";
}
