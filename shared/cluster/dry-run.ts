import type { Cluster } from "./cluster.ts";

/** A cluster that reads as `cluster` does and writes nothing: every write seems to succeed. */
export function dryRun(cluster: Cluster): Cluster {
  return {
    discover: cluster.discover,
    get: cluster.get,
    exists: cluster.exists,
    list: cluster.list,
    pages: cluster.pages,
    deleted: cluster.deleted,
    patch: async (object) => object,
    create: async (object) => object,
    delete: async () => {},
    record: async () => {},
  };
}
