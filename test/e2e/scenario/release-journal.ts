import { gunzipSync } from "node:zlib";
import { parseAllDocuments } from "yaml";
import type { Api } from "../harness/api-types.ts";
import { follow } from "../harness/follow.ts";
import { type KubeObject, valueAt } from "../harness/objects.ts";
import { templateKinds, titleOf } from "./workers.ts";

/** Writes down what Helm's one release of a namespace lists, and which of its templates are asked to go. */
export interface ReleaseJournal {
  /** Every template whose deletion was asked for while its release listed it: deployed last, or in the newest revision. */
  deletedWhileListed(): string[];
}

interface Revision {
  /** Of the cluster's data, in which this state of the release was written. */
  at: bigint;
  version: number;
  isDeployed: boolean;
  titles: string[];
}

// helm.sh/helm/v3/pkg/storage/driver/util.go: base64 of a gzip of JSON, in a Secret, which adds a base64 of its own.
function revisionOf({ metadata, data }: KubeObject): Revision {
  const stored = Buffer.from(String(valueAt(data, "release")), "base64").toString();
  const release: unknown = JSON.parse(gunzipSync(Buffer.from(stored, "base64")).toString());
  const objects = parseAllDocuments(String(valueAt(release, "manifest"))).map((one) => one.toJS() as KubeObject | null);
  return {
    at: BigInt(metadata.resourceVersion ?? "0"),
    version: Number(valueAt(release, "version")),
    isDeployed: valueAt(release, "info", "status") === "deployed",
    titles: objects.flatMap((object) => (object === null ? [] : [titleOf(object)])),
  };
}

/** Starts a journal of a namespace. It ends at teardown. */
export function startReleaseJournal(api: Api, namespace: string): ReleaseJournal {
  const revisions: Revision[] = [];
  const asked = new Map<string, { title: string; at: bigint }>();
  const secrets = { apiVersion: "v1", kind: "Secret", namespace, labelSelector: "owner=helm" };
  follow(api, secrets, ({ type, object }) => {
    if (type !== "DELETED") revisions.push(revisionOf(object));
  });
  for (const kind of templateKinds) {
    follow(api, { ...kind, namespace }, ({ type, object }) => {
      const { uid = "", deletionTimestamp, resourceVersion = "0" } = object.metadata;
      if (asked.has(uid) || (type !== "DELETED" && deletionTimestamp === undefined)) return;
      asked.set(uid, { title: titleOf(object), at: BigInt(resourceVersion) });
    });
  }
  return {
    deletedWhileListed() {
      return [...asked.values()].flatMap(({ title, at }) => {
        const before = revisions.filter((revision) => revision.at < at);
        const deployed = before.findLast(({ isDeployed }) => isDeployed);
        const newest = before.toSorted((a, b) => a.version - b.version).at(-1);
        return deployed?.titles.includes(title) || newest?.titles.includes(title) ? [title] : [];
      });
    },
  };
}
