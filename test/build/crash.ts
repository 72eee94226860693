import type { Cluster } from "../../shared/cluster/cluster.ts";

/** Stands for the end of the process: nothing in the product may catch it and go on. */
export class ProcessDied extends Error {
  constructor() {
    super("the process died");
    this.name = "ProcessDied";
  }
}

/**
 * A cluster whose caller dies at its n-th write, counted from 1: just before it reached the server, or just after, with
 * the answer lost. Every later call dies too, for nobody is there to make it. Dry runs and Events are no writes.
 */
export function dyingAt(n: number, when: "before" | "after"): (cluster: Cluster) => Cluster {
  return (cluster) => {
    let writes = 0;
    let isDead = false;
    const alive = async <Result>(call: () => Promise<Result>): Promise<Result> => {
      if (isDead) throw new ProcessDied();
      return call();
    };
    const write = async <Result>(call: () => Promise<Result>): Promise<Result> => {
      writes += 1;
      isDead ||= writes === n && when === "before";
      const result = await alive(call);
      isDead = writes === n;
      return alive(async () => result);
    };
    return {
      discover: () => alive(cluster.discover),
      get: (key) => alive(() => cluster.get(key)),
      exists: (key) => alive(() => cluster.exists(key)),
      list: (kind, options) => alive(() => cluster.list(kind, options)),
      pages: async function* (kind, options) {
        for await (const page of cluster.pages(kind, options)) yield await alive(async () => page);
      },
      deleted: (key, version) => alive(() => cluster.deleted(key, version)),
      record: (event) => alive(() => cluster.record(event)),
      patch: (object, patch) => write(() => cluster.patch(object, patch)),
      create: (object, options) =>
        options?.dryRun ? alive(() => cluster.create(object, options)) : write(() => cluster.create(object)),
      delete: (object) => write(() => cluster.delete(object)),
    };
  };
}
