import { type GroupKind, groupKindText } from "../../objects/object.ts";
import { ClusterError, type Discovery, type ServedKind } from "../cluster.ts";
import { isUnknownPath } from "./api-error.ts";
import { discoverKinds, type Served } from "./discovery.ts";
import { discoverUntil } from "./group.ts";
import { listObjects } from "./list.ts";
import type { Request } from "./request.ts";

const core = (kind: string, plural: string, namespaced: boolean): ServedKind => {
  return { group: "", version: "v1", kind, plural, namespaced };
};

/** The kinds of the core group that this program reads, the same on every cluster. */
const CORE_KINDS = [
  core("Namespace", "namespaces", false),
  core("ConfigMap", "configmaps", true),
  core("Secret", "secrets", true),
];

const DEFINITION: ServedKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

/** Where each kind is served, remembered for the life of the process and read anew where that may be wrong. */
export interface Kinds {
  /** What is served now. Where the server says that nothing changed since the last answer, that one stands. */
  discover(): Promise<Discovery>;
  /**
   * Acts on a kind where it is served, and once more where it is served now if that path turns out to be unknown.
   * One small discovery of its group tells where; `absent` comes back when the kind is not served, as a fresh discovery
   * of all groups says.
   *
   * Throws ClusterError "unavailable" when the kind exists but no version of it is served: its objects are hidden.
   */
  on<Result>(kind: GroupKind, act: (served: ServedKind) => Promise<Result>, absent: Result): Promise<Result>;
}

export function createKinds(request: Request): Kinds {
  const known = new Map<string, ServedKind>();
  let lastServed: Served | undefined;
  let lastDiscovery: { readonly of: Served; readonly discovery: Discovery } | undefined;
  const read = async (root: "/api" | "/apis"): Promise<Served> => {
    const now = await discoverKinds(request, root, root === "/apis" ? lastServed : undefined);
    if (root === "/apis") lastServed = now;
    // Taken over even where nothing changed: what a single group told in between may be older. The kinds of the core group never go.
    for (const [id, { group }] of known) if (group !== "" && root === "/apis") known.delete(id);
    for (const kind of now.served.toReversed()) known.set(groupKindText(kind), kind);
    return now;
  };
  for (const kind of CORE_KINDS) known.set(groupKindText(kind), kind);

  const discover = async (): Promise<Discovery> => {
    const now = await read("/apis");
    // Nothing served can become hidden without a change of it.
    if (lastDiscovery?.of === now) return lastDiscovery.discovery;
    const { served, versions } = now;
    const definitions = await listObjects(request, DEFINITION, { metadataOnly: true });
    const isServed = new Set(served.map(({ plural, group }) => `${plural}.${group}`));
    const hidden = definitions.map(({ metadata }) => metadata.name).filter((name) => !isServed.has(name));
    const discovery = { served: [...CORE_KINDS, ...served], versions, hidden: hidden.map(splitDefinitionName) };
    // What is hidden can go without one, so it is asked for again.
    lastDiscovery = now.etag !== undefined && hidden.length === 0 ? { of: now, discovery } : undefined;
    return discovery;
  };
  const readGroupOf = async (kind: GroupKind): Promise<ServedKind | undefined> => {
    const found = await discoverUntil(request, kind);
    if (found === undefined) return undefined;
    for (const [id, { group }] of known) if (group === kind.group) known.delete(id);
    for (const one of found) known.set(groupKindText(one), one);
    return known.get(groupKindText(kind));
  };
  const findAnew = async (kind: GroupKind): Promise<ServedKind | undefined> => {
    const id = groupKindText(kind);
    if (kind.group === "") {
      await read("/api");
      return known.get(id);
    }
    const found = await readGroupOf(kind);
    if (found !== undefined) return found;
    const { hidden } = await discover();
    if (!hidden.some(({ group, plural }) => group === kind.group && isPluralOf(plural, kind.kind)))
      return known.get(id);
    throw new ClusterError("unavailable", `${id} exists but no version of it is served`);
  };
  return {
    discover,
    async on(kind, act, absent) {
      const served = known.get(groupKindText(kind)) ?? (await findAnew(kind));
      if (served === undefined) return absent;
      try {
        return await act(served);
      } catch (error) {
        if (!isUnknownPath(error)) throw error;
      }
      const now = await findAnew(kind);
      if (now === undefined) return absent;
      try {
        return await act(now);
      } catch (error) {
        if (!isUnknownPath(error)) throw error;
        // Not "not-found", which would say that the object is gone.
        const message = `${groupKindText(kind)} is served, but not where asked: ${error.message}`;
        throw new ClusterError("unavailable", message, { cause: error });
      }
    },
  };
}

/** A CustomResourceDefinition is named `<plural>.<group>`. */
function splitDefinitionName(name: string): { readonly group: string; readonly plural: string } {
  const dot = name.indexOf(".");
  return { plural: name.slice(0, dot), group: name.slice(dot + 1) };
}

// What is served under no version has a plural, not a kind, in what metadata tells.
function isPluralOf(plural: string, kind: string): boolean {
  const singular = kind.toLowerCase();
  return [`${singular}s`, `${singular}es`, `${singular.slice(0, -1)}ies`].includes(plural);
}
