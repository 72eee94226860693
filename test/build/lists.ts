import type { Cluster } from "../../shared/cluster/cluster.ts";

/** `inner` with another way to list, whole lists and pages alike. */
export function withLists(inner: Cluster, list: Cluster["list"]): Cluster {
  return {
    ...inner,
    list,
    async *pages(kind, options) {
      yield await list(kind, options);
    },
  };
}
