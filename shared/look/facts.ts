import { anewWhenExpired } from "../cluster/anew-when-expired.ts";
import { type Cluster, failedWith } from "../cluster/cluster.ts";
import { atMost } from "../concurrency/at-most.ts";
import { type Doubt, doubtsIn, type UnreadKind } from "../graph/doubts.ts";
import { buildGraph, type Graph, graphOf, type Node } from "../graph/graph.ts";
import { type Needed, neededIn } from "../graph/needed.ts";
import { ANY_KIND, metadataSuffices } from "../graph/references.ts";
import { wantedBy } from "../graph/wanted.ts";
import { canRefer, isTemplateKind, NAMESPACE } from "../objects/kinds.ts";
import { type GroupKind, isTerminating, type KubeObject, type ObjectKey } from "../objects/object.ts";
import { type Fold, foldAll, foldForTemplates } from "./fold.ts";
import { everywhere, isWhollySeen, type Listing, reachOf } from "./reach.ts";

/** One look at everything that decides about templates. */
export interface Facts {
  readonly graph: Graph;
  readonly needed: Needed;
  readonly doubtAbout: (key: ObjectKey) => Doubt | undefined;
  readonly wantedBy: (key: ObjectKey) => readonly ObjectKey[];
  /** Whether a namespace is Terminating or gone; unknown counts as leaving. */
  readonly isNamespaceLeaving: (namespace: string) => boolean;
  /** Kinds that are there but could not be read. */
  readonly unread: readonly UnreadKind[];
}

export interface Looking {
  /** Only what can bear on these templates; by default what can bear on any. */
  readonly about?: readonly ObjectKey[];
  /** Hold every object, not just those that decide about templates. */
  readonly all?: boolean;
  /** Further kinds to list, their metadata alone. */
  readonly also?: readonly GroupKind[];
  /** Further kinds to list, whole. */
  readonly whole?: readonly GroupKind[];
  /** Is shown each object as it was read, before anything of it is forgotten; again, where a list had to begin anew. */
  readonly visit?: (object: KubeObject) => void;
}

/** Lists at once: with more the API server only makes them wait, and as many pages are held at a time. */
const AT_ONCE = 4;

/**
 * Lists every kind that can refer to a template (all of them have a namespace), each once, metadata alone where that
 * decides, and holds no page longer than it takes to read what decides out of it. A kind that cannot be read becomes a
 * doubt, not an error; a kind that is not served has no objects. What the graph holds of an object is its metadata.
 *
 * All lists begin after the call, so that the answer holds for whatever was known before it.
 * Throws a ClusterError when discovery fails.
 */
export async function gatherFacts(cluster: Cluster, looking: Looking = {}): Promise<Facts> {
  const { about, all = false, also = [], whole = [], visit } = looking;
  const { served, hidden } = await cluster.discover();
  const unread: UnreadKind[] = hidden
    .filter(({ group }) => canRefer({ group, kind: ANY_KIND }))
    .map(({ group, plural }) => ({
      group,
      kind: ANY_KIND,
      reason: `${plural} exist but no version of them is served`,
    }));
  const readable = async <Result>(kind: GroupKind, read: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!failedWith(error, "forbidden", "unavailable", "not-found", "invalid", "expired")) throw error;
      unread.push({ group: kind.group, kind: kind.kind, reason: error.message });
      return undefined;
    }
  };
  const startFold = all ? foldAll : foldForTemplates;
  const nodesOf = async (listing: Listing): Promise<readonly Node[]> => {
    const metadataOnly = metadataSuffices(listing.kind) && !isAmong(whole, listing.kind);
    const fold = await readable(listing.kind, () => foldPages(cluster, listing, metadataOnly, startFold, visit));
    return fold?.nodes() ?? [];
  };
  const further = served.filter((kind) => isAmong([...also, ...whole], kind) && !(kind.namespaced && canRefer(kind)));
  const listings = [
    ...(about === undefined ? everywhere(served) : reachOf(about, served)),
    ...further.map((kind) => ({ kind })),
  ];
  const namespaces = await readable(NAMESPACE, () => cluster.list(NAMESPACE, { metadataOnly: true }));
  // Templates before their referrers, so that what is known about a referrer is never older than the template it keeps.
  const templates = await atMost(AT_ONCE, listings.filter(ofTemplates), nodesOf);
  const others = await atMost(
    AT_ONCE,
    listings.filter((one) => !ofTemplates(one)),
    nodesOf,
  );
  const graph = graphOf([...templates, ...others].flat());
  return factsOf(graph, namespaces ?? [], unread, about && isWhollySeen(about));
}

/** Facts from whole objects already in hand. `namespaces` lists all there are. */
export function factsFrom(
  objects: readonly KubeObject[],
  namespaces: readonly KubeObject[],
  unread: readonly UnreadKind[],
): Facts {
  return factsOf(buildGraph(objects), namespaces, unread);
}

function factsOf(
  graph: Graph,
  namespaces: readonly KubeObject[],
  unread: readonly UnreadKind[],
  isSeen?: (key: ObjectKey) => boolean,
): Facts {
  const needed = neededIn(graph, isSeen);
  const staying = new Set(namespaces.filter((one) => !isTerminating(one)).map((one) => one.metadata.name));
  const isNamespaceLeaving = (namespace: string) => !staying.has(namespace);
  return {
    graph,
    needed,
    doubtAbout: doubtsIn(graph, needed, unread),
    wantedBy: (key) => wantedBy(key, graph, isNamespaceLeaving),
    isNamespaceLeaving,
    unread,
  };
}

/** Reads one list to its end. Throws a ClusterError. */
async function foldPages(
  cluster: Cluster,
  { kind, namespace }: Listing,
  metadataOnly: boolean,
  startFold: () => Fold,
  visit?: (object: KubeObject) => void,
): Promise<Fold> {
  const withoutManagedFields = visit === undefined && !isTemplateKind(kind);
  const options = { metadataOnly, withoutManagedFields, ...(namespace !== undefined && { namespace }) };
  return anewWhenExpired(async () => {
    const fold = startFold();
    for await (const page of cluster.pages(kind, options)) {
      for (const object of page) {
        visit?.(object);
        fold.add(object);
      }
    }
    return fold;
  });
}

function ofTemplates({ kind }: Listing): boolean {
  return isTemplateKind(kind);
}

function isAmong(kinds: readonly GroupKind[], { group, kind }: GroupKind): boolean {
  return kinds.some((one) => one.group === group && one.kind === kind);
}
