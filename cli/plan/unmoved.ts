import type { Graph } from "../../shared/graph/graph.ts";
import type { Needed } from "../../shared/graph/needed.ts";
import { label } from "../../shared/marks/marks.ts";
import { CORE, isTemplateKind } from "../../shared/objects/kinds.ts";
import {
  type GroupKind,
  groupKindText,
  groupOf,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
} from "../../shared/objects/object.ts";

const MOVE = "clusterctl.cluster.x-k8s.io/move";
const MOVE_HIERARCHY = "clusterctl.cluster.x-k8s.io/move-hierarchy";
const ROOTS: ReadonlySet<string> = new Set(["Cluster", "ClusterClass", "ClusterResourceSet"]);

/**
 * The templates in use that `clusterctl move` would leave behind: no chain of owners leads to one of its roots, and
 * neither the object nor its kind carries the move label (cmd/clusterctl/client/cluster/objectgraph.go).
 *
 * @param movedKinds kinds whose CustomResourceDefinition carries the move label, as "Kind.group"
 */
export function unmovedTemplates(graph: Graph, needed: Needed, movedKinds: ReadonlySet<string>): readonly ObjectKey[] {
  const isMoved = (object: KubeObject, seen: ReadonlySet<string>): boolean => {
    const key = keyOf(object);
    if (isRoot(key) || label(object, MOVE_HIERARCHY) !== undefined) return true;
    if (seen.has(keyText(key))) return false;
    return owners(object, graph).some((owner) => isMoved(owner, new Set([...seen, keyText(key)])));
  };
  return graph.objects
    .filter((object) => isTemplateKind(keyOf(object)) && needed.has(keyOf(object)))
    .filter((object) => label(object, MOVE) === undefined && !movedKinds.has(groupKindText(keyOf(object))))
    .filter((object) => !isMoved(object, new Set()))
    .map(keyOf);
}

/** The kinds among `kinds` whose CustomResourceDefinition, named plural.group, carries the move label. */
export function kindsThatMove(
  definitions: readonly KubeObject[],
  kinds: readonly (GroupKind & { readonly plural: string })[],
): ReadonlySet<string> {
  const labelled = new Set(definitions.filter((one) => label(one, MOVE) !== undefined).map((one) => one.metadata.name));
  return new Set(kinds.filter(({ plural, group }) => labelled.has(`${plural}.${group}`)).map(groupKindText));
}

function owners(object: KubeObject, graph: Graph): readonly KubeObject[] {
  const { namespace } = keyOf(object);
  return (object.metadata.ownerReferences ?? []).flatMap((owner) => {
    const live = graph.get({ group: groupOf(owner.apiVersion), kind: owner.kind, namespace, name: owner.name });
    const uid = live?.metadata.uid;
    return live !== undefined && (owner.uid === undefined || uid === undefined || owner.uid === uid) ? [live] : [];
  });
}

function isRoot({ group, kind }: GroupKind): boolean {
  return (group === CORE || group === `addons.${CORE}`) && ROOTS.has(kind);
}
