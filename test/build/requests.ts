import type { Cluster } from "../../shared/cluster/cluster.ts";

/** `inner` with each request noted in `made` in its order: "get Kind", "list Kind (metadata)", "event Reason". */
export function notingRequests(inner: Cluster, made: string[]): Cluster {
  const lists = (kind: string, isMetadata = false) => made.push(`list ${kind}${isMetadata ? " (metadata)" : ""}`);
  return {
    async discover() {
      made.push("discover");
      return inner.discover();
    },
    async get(key) {
      made.push(`get ${key.kind}`);
      return inner.get(key);
    },
    async exists(key) {
      made.push(`exists ${key.kind}`);
      return inner.exists(key);
    },
    async list(kind, options) {
      lists(kind.kind, options?.metadataOnly);
      return inner.list(kind, options);
    },
    async *pages(kind, options) {
      lists(kind.kind, options?.metadataOnly);
      yield* inner.pages(kind, options);
    },
    async patch(object, patch) {
      made.push(`patch ${object.kind}`);
      return inner.patch(object, patch);
    },
    async create(object, options) {
      made.push(`create ${object.kind}`);
      return inner.create(object, options);
    },
    async delete(object) {
      made.push(`delete ${object.kind}`);
      return inner.delete(object);
    },
    async deleted(key, version) {
      made.push(`watch ${key.kind}`);
      return inner.deleted(key, version);
    },
    async record(event) {
      made.push(`event ${event.reason}`);
      return inner.record(event);
    },
  };
}
