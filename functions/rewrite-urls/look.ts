import type { Cluster } from "../../shared/cluster.ts";
import { type Facts, gatherFacts } from "../../shared/facts.ts";
import type { KubeObject } from "../../shared/object.ts";
import { keyOf } from "../../shared/object.ts";
import { metadataSuffices } from "../../shared/references.ts";
import type { Tally } from "../../shared/tally.ts";
import { canCarry } from "./carriers.ts";
import { BARE_METAL_HOST } from "./hosts.ts";

/** The facts that decide about URLs: those about templates, and the hosts. */
export function gatherUrlFacts(cluster: Cluster): Promise<Facts> {
  return gatherFacts(cluster, { whole: [BARE_METAL_HOST] });
}

/** Every object that can hold a URL, whole. A kind that cannot be listed is one failure in `tally`. */
export async function listCarriers(cluster: Cluster, { graph }: Facts, tally: Tally): Promise<readonly KubeObject[]> {
  const objects = graph.objects.filter((object) => canCarry(keyOf(object)) && !metadataSuffices(keyOf(object)));
  const { served } = await cluster.discover();
  // The facts hold only the metadata of these.
  for (const kind of served.filter((one) => canCarry(one) && metadataSuffices(one))) {
    objects.push(...((await tally.try(`${kind.kind}.${kind.group}`, () => cluster.list(kind))) ?? []));
  }
  return objects;
}
