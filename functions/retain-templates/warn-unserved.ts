import type { Context } from "../../shared/acts/context.ts";
import type { Tally } from "../../shared/acts/tally.ts";
import { tell } from "../../shared/acts/tell.ts";
import { type Discovery, failedWith } from "../../shared/cluster/cluster.ts";
import { type GroupKind, groupKindText, type KubeObject } from "../../shared/objects/object.ts";
import { findUnserved, remedyFor, warningsFrom } from "./unserved.ts";

const API_SERVER_SOURCE: GroupKind = { group: "sources.knative.dev", kind: "ApiServerSource" };

/**
 * Warns of what the event sources beside us watch in vain: their events do not come, and only sweeps do our work. No word
 * where there are no sources, as outside Knative.
 *
 * Throws a ClusterError where they cannot be listed for another reason than a missing right.
 */
export async function warnOfUnserved(context: Context, discovery: Discovery, tally: Tally): Promise<void> {
  const unserved = findUnserved(await sourcesOf(context), discovery);
  for (const { source, apiVersion, kind, because, servedAt } of unserved) {
    const what = { source: source.metadata.name, apiVersion, kind, because, todo: remedyFor({ because, servedAt }) };
    context.log.warn(what, "an event source watches what is not served");
    tally.count("unserved-versions");
  }
  for (const { source, note, state } of warningsFrom(unserved)) {
    const reason = "WatchedVersionNotServed";
    await tell(context, { regarding: source, type: "Warning", reason, action: "Watch", note, state });
  }
}

async function sourcesOf({ cluster, log, settings }: Context): Promise<readonly KubeObject[]> {
  try {
    return await cluster.list(API_SERVER_SOURCE, { namespace: settings.ownNamespace });
  } catch (error) {
    if (!failedWith(error, "forbidden")) throw error;
    const kind = groupKindText(API_SERVER_SOURCE);
    log.warn({ kind, err: error }, "event sources cannot be read; whether what they watch is served is unknown");
    return [];
  }
}
