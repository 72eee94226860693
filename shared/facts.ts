import { type Cluster, failedWith } from "./cluster.ts";
import { type Doubt, doubtsIn, type UnreadKind } from "./doubts.ts";
import { buildGraph, type Graph } from "./graph.ts";
import { canRefer, isTemplateKind, NAMESPACE } from "./kinds.ts";
import { type Needed, neededIn } from "./needed.ts";
import { type GroupKind, isTerminating, type KubeObject, type ObjectKey } from "./object.ts";
import { ANY_KIND, metadataSuffices } from "./references.ts";
import { wantedBy } from "./wanted.ts";

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
  /** Further kinds to list, their metadata alone. */
  readonly also?: readonly GroupKind[];
  /** Further kinds to list, whole. */
  readonly whole?: readonly GroupKind[];
  /** Is shown each object as it was read, before anything of it is forgotten. */
  readonly visit?: (object: KubeObject) => void;
}

/**
 * Lists every kind that can refer to a template (all of them have a namespace), each once, metadata alone where that decides. A kind that cannot be
 * read becomes a doubt, not an error; a kind that is not served has no objects. What the graph holds of an object is
 * its metadata and what decides about templates; `visit` sees it whole.
 * Throws a ClusterError when discovery fails.
 */
export async function gatherFacts(cluster: Cluster, { also = [], whole = [], visit }: Looking = {}): Promise<Facts> {
  const isAlso = (kind: GroupKind) => isAmong(also, kind) || isAmong(whole, kind);
  const { served, hidden } = await cluster.discover();
  const unread: UnreadKind[] = hidden
    .filter(({ group }) => canRefer({ group, kind: ANY_KIND }))
    .map(({ group, plural }) => ({
      group,
      kind: ANY_KIND,
      reason: `${plural} exist but no version of them is served`,
    }));
  const readable = async (kind: GroupKind, metadataOnly: boolean): Promise<readonly KubeObject[]> => {
    try {
      return await cluster.list(kind, { metadataOnly });
    } catch (error) {
      if (!failedWith(error, "forbidden", "unavailable", "not-found", "invalid", "expired")) throw error;
      unread.push({ group: kind.group, kind: kind.kind, reason: error.message });
      return [];
    }
  };
  const namespaces = await readable(NAMESPACE, true);
  const objects: KubeObject[] = [];
  for (const kind of templatesFirst(served.filter((kind) => (kind.namespaced && canRefer(kind)) || isAlso(kind)))) {
    for (const object of await readable(kind, metadataSuffices(kind) && !isAmong(whole, kind))) {
      visit?.(object);
      objects.push(object);
    }
  }
  return factsFrom(objects, namespaces, unread);
}

/** Facts from objects already in hand. `namespaces` lists all there are. */
export function factsFrom(
  objects: readonly KubeObject[],
  namespaces: readonly KubeObject[],
  unread: readonly UnreadKind[],
): Facts {
  const graph = buildGraph(objects);
  const needed = neededIn(graph);
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

function isAmong(kinds: readonly GroupKind[], { group, kind }: GroupKind): boolean {
  return kinds.some((one) => one.group === group && one.kind === kind);
}

// Candidates before their referrers, so that what is known about a referrer is never older than the template it keeps.
function templatesFirst<Kind extends GroupKind>(kinds: readonly Kind[]): readonly Kind[] {
  return [...kinds.filter(isTemplateKind), ...kinds.filter((kind) => !isTemplateKind(kind))];
}
