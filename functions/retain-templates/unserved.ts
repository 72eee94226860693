import type { Discovery } from "../../shared/cluster/cluster.ts";
import { groupOf, type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { isRecord, valuesAt } from "../../shared/objects/path.ts";

type Because = "version-gone" | "kind-gone";

/** A kind that a source watches at a version at which it is not served. */
export interface Unserved {
  readonly source: KubeObject;
  readonly apiVersion: string;
  readonly kind: string;
  /** Without the version the source's adapter ends at its start, without the kind it leaves that one out. */
  readonly because: Because;
  /** The versions of the same group at which the kind is served, the preferred one first. */
  readonly servedAt: readonly string[];
}

/**
 * What these ApiServerSources watch in vain (knative/eventing pkg/adapter/apiserver/adapter.go: a group and version
 * that is not served is fatal to the whole adapter, a kind that is missing in it is skipped and never looked for again).
 * The core group, which never goes, is left out.
 */
export function findUnserved(
  sources: readonly KubeObject[],
  { versions }: Pick<Discovery, "versions">,
): readonly Unserved[] {
  return sources.flatMap((source) =>
    valuesAt(source, "spec.resources[]").flatMap(({ value }): readonly Unserved[] => {
      const { apiVersion, kind } = isRecord(value) ? value : {};
      if (typeof apiVersion !== "string" || typeof kind !== "string" || !apiVersion.includes("/")) return [];
      if (versions.some((one) => one.apiVersion === apiVersion && one.kind === kind)) return [];
      const isVersionServed = versions.some((one) => one.apiVersion === apiVersion);
      const group = groupOf(apiVersion);
      const servedAt = versions.filter((one) => one.kind === kind && groupOf(one.apiVersion) === group);
      return [
        {
          source,
          apiVersion,
          kind,
          because: isVersionServed ? "kind-gone" : "version-gone",
          servedAt: servedAt.map((one) => one.apiVersion),
        },
      ];
    }),
  );
}

/** What follows for one source from one version of a group, and what to do about it, for people. */
export interface Warning {
  readonly source: KubeObject;
  readonly note: string;
  /** What makes it the same warning again, however many kinds of the version are watched. */
  readonly state: string;
}

/**
 * One warning for each source and version, however many kinds of it are watched. Where the whole version is gone, the
 * one that any of its kinds is served at speaks for all of them.
 */
export function warningsFrom(unserved: readonly Unserved[]): readonly Warning[] {
  const stateOf = ({ apiVersion, because, servedAt }: Unserved) =>
    [apiVersion, because, ...(because === "kind-gone" ? servedAt : [])].join(" ");
  const alike = Map.groupBy(unserved, (one) => `${keyText(keyOf(one.source))} ${stateOf(one)}`);
  return [...alike.values()].flatMap((all) => {
    const telling = all.find(({ servedAt }) => servedAt.length > 0) ?? all[0];
    if (telling === undefined) return [];
    const { source, apiVersion } = telling;
    const kinds = all.map(({ kind }) => kind).join(", ");
    const note = `${apiVersion} is watched and not served: ${kinds}. ${remedyFor(telling)}`;
    return [{ source, note, state: stateOf(telling) }];
  });
}

/** What to do, and what happens until then. */
export function remedyFor({ because, servedAt }: Pick<Unserved, "because" | "servedAt">): string {
  const [best] = servedAt;
  if (best !== undefined) return `${CONSEQUENCE[because]} Use the component for the version that is served: ${best}.`;
  return because === "version-gone"
    ? `${CONSEQUENCE[because]} Take the component out, or install its provider.`
    : "No version of it is served. Once one is, restart the source's adapter.";
}

const CONSEQUENCE: Readonly<Record<Because, string>> = {
  "version-gone": "The source's adapter ends at its next start, and none of its events come.",
  "kind-gone": "The source's adapter leaves the kind out at its next start, and its events do not come.",
};
