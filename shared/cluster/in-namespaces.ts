import { type GroupKind, groupKindText, type KubeObject, keyOf, keyText, type ObjectKey } from "../objects/object.ts";
import type { Settings } from "../setup/settings.ts";
import { type Cluster, ClusterError, type Discovery, type ListOptions } from "./cluster.ts";

type Scope = Pick<Settings, "namespaces" | "ownNamespace">;

/** Whether objects of a namespace are looked at at all; what belongs to no namespace ("") always is. */
export function isLookedAt(namespace: string, { namespaces }: Pick<Settings, "namespaces">): boolean {
  return namespace === "" || namespaces.length === 0 || namespaces.includes(namespace);
}

/**
 * A cluster of which only the named namespaces are seen, for an account whose rights end there. A list of all
 * namespaces becomes one of each, and fails as a whole where one of them does, so that a doubt arises as before. What
 * belongs to no namespace passes, and so does what stands in our own.
 *
 * An object of another namespace is "forbidden" to read and to write, as the API server would answer: it is neither
 * there nor gone.
 */
export function inNamespaces(cluster: Cluster, scope: Scope): Cluster {
  const namespaces = [...new Set(scope.namespaces)];
  if (namespaces.length === 0) return cluster;
  const isWide = new Map<string, boolean>();
  const discover = async (): Promise<Discovery> => {
    const discovery = await cluster.discover();
    for (const kind of discovery.served) isWide.set(groupKindText(kind), !kind.namespaced);
    return discovery;
  };
  const see = ({ namespace, ...rest }: ObjectKey): void => {
    if (namespace === scope.ownNamespace || isLookedAt(namespace, { namespaces })) return;
    const named = keyText({ ...rest, namespace });
    throw new ClusterError("forbidden", `${named} is in none of the namespaces that NAMESPACES names`);
  };
  const seen = (object: KubeObject): void => see(keyOf(object));
  const pages = async function* (kind: GroupKind, options: ListOptions = {}) {
    if (options.namespace === undefined && !isWide.has(groupKindText(kind))) await discover();
    if (options.namespace !== undefined || isWide.get(groupKindText(kind))) return yield* cluster.pages(kind, options);
    for (const namespace of namespaces) yield* cluster.pages(kind, { ...options, namespace });
  };
  return {
    discover,
    async get(key) {
      see(key);
      return cluster.get(key);
    },
    async exists(key) {
      see(key);
      return cluster.exists(key);
    },
    list: async (kind, options) => (await Array.fromAsync(pages(kind, options))).flat(),
    pages,
    async patch(object, patch) {
      seen(object);
      return cluster.patch(object, patch);
    },
    async create(object, options) {
      seen(object);
      return cluster.create(object, options);
    },
    async delete(object) {
      seen(object);
      return cluster.delete(object);
    },
    async deleted(key, resourceVersion) {
      see(key);
      return cluster.deleted(key, resourceVersion);
    },
    async record(event) {
      seen(event.regarding);
      return cluster.record(event);
    },
  };
}
