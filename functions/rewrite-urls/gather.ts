import type { Tally } from "../../shared/acts/tally.ts";
import { anewWhenExpired } from "../../shared/cluster/anew-when-expired.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { metadataSuffices } from "../../shared/graph/references.ts";
import { gatherFacts, type Looking } from "../../shared/look/facts.ts";
import { type GroupKind, type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { canCarry } from "./carriers.ts";
import type { UrlFacts } from "./decide.ts";
import { BARE_METAL_HOST, type Host, hostFrom, indexHosts, isHost } from "./hosts.ts";

/** The facts that decide about URLs: those about templates, and the hosts. Throws as `gatherFacts` does. */
export async function gatherUrlFacts(
  cluster: Cluster,
  { whole = [], visit, ...looking }: Looking = {},
): Promise<UrlFacts> {
  const hosts: Host[] = [];
  const facts = await gatherFacts(cluster, {
    ...looking,
    whole: [...whole, BARE_METAL_HOST],
    visit(object) {
      if (isHost(object)) hosts.push(hostFrom(object));
      visit?.(object);
    },
  });
  return { ...facts, hosts: indexHosts(hosts) };
}

/** Of the objects that can hold a URL those that are meant, gathered whole while the facts are. */
export interface Carriers {
  /** For `gatherUrlFacts`. */
  readonly visit: (object: KubeObject) => void;
  /** How many were looked at so far, meant or not; twice where a list had to be begun anew. */
  seen(): number;
  /** All of them, once the facts are there. A kind that cannot be listed is one failure in `tally`. */
  complete(cluster: Cluster, tally: Tally): Promise<readonly KubeObject[]>;
}

/** However many objects there are, none is held longer than it is looked at, but those that are meant. */
export function carriersThat(isMeant: (object: KubeObject) => boolean): Carriers {
  const kept = new Map<string, KubeObject>();
  let seen = 0;
  const keep = (object: KubeObject) => {
    seen += 1;
    // The same object is shown again where a list had to be begun anew.
    if (isMeant(object)) kept.set(keyText(keyOf(object)), object);
    else if (kept.size > 0) kept.delete(keyText(keyOf(object)));
  };
  return {
    visit(object) {
      if (canCarry(keyOf(object)) && !metadataSuffices(keyOf(object))) keep(object);
    },
    seen: () => seen,
    async complete(cluster, tally) {
      const { served } = await cluster.discover();
      // The facts read only the metadata of these.
      for (const kind of served.filter((one) => canCarry(one) && metadataSuffices(one))) {
        await tally.try(`${kind.kind}.${kind.group}`, () => showWhole(cluster, kind, keep));
      }
      return [...kept.values()];
    },
  };
}

async function showWhole(cluster: Cluster, kind: GroupKind, show: (object: KubeObject) => void): Promise<void> {
  await anewWhenExpired(async () => {
    for await (const page of cluster.pages(kind)) page.forEach(show);
  });
}
