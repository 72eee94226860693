import { describe, expect, it } from "vitest";
import { onObject } from "../../../shared/acts/retry.ts";
import { type Cluster, ClusterError, type ClusterFailure } from "../../../shared/cluster/cluster.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import { bench } from "../../build/bench.ts";
import { metal3MachineTemplate } from "../../build/objects.ts";

const template = metal3MachineTemplate("t");
const key = keyOf(template);
const touch = { metadata: { labels: { x: "y" } } };

/** A cluster that counts reads and lets `inBetween` happen before each patch. */
function watched(inBetween: (world: { other: Cluster; attempt: number }) => Promise<unknown> = async () => {}) {
  let reads = 0;
  let attempt = 0;
  const { cluster: other, context } = bench([template], {}, (inner) => ({
    ...inner,
    get: (of) => {
      reads += 1;
      return inner.get(of);
    },
    patch: async (one, patch) => {
      attempt += 1;
      await inBetween({ other: inner, attempt });
      return inner.patch(one, patch);
    },
  }));
  return { cluster: context.cluster, other, reads: () => reads, attempts: () => attempt };
}

async function someoneElseWrites(cluster: Cluster): Promise<void> {
  const live = await cluster.get(key);
  const count = String(Number(live?.metadata.labels?.count ?? 0) + 1);
  if (live !== undefined) await cluster.patch(live, { metadata: { labels: { count } } });
}

const failing = (failure: ClusterFailure) => async () => {
  throw new ClusterError(failure, "x");
};

describe("conflicts", () => {
  it("none -> one read, one attempt", async () => {
    const { cluster, reads, attempts } = watched();
    const patched = await onObject(cluster, key, (live) => cluster.patch(live, touch));
    expect(patched?.metadata.labels).toEqual({ x: "y" });
    expect([reads(), attempts()]).toEqual([1, 1]);
  });

  it.each([1, 2, 3, 4])("%i of them -> done on a fresh read", async (conflicts) => {
    const { cluster, attempts } = watched(
      async ({ other, attempt }) => attempt <= conflicts && someoneElseWrites(other),
    );
    const patched = await onObject(cluster, key, (live) => cluster.patch(live, touch));
    expect(patched?.metadata.labels).toEqual({ x: "y", count: String(conflicts) });
    expect(attempts()).toBe(conflicts + 1);
  });

  it("at every attempt -> unavailable after five, never a conflict the Broker would see", async () => {
    const { cluster, attempts } = watched(({ other }) => someoneElseWrites(other));
    await expect(onObject(cluster, key, (live) => cluster.patch(live, touch))).rejects.toMatchObject({
      failure: "unavailable",
    });
    expect(attempts()).toBe(5);
  });

  it("the next attempt decides anew from what it now is", async () => {
    const { cluster } = watched(async ({ other, attempt }) => attempt === 1 && someoneElseWrites(other));
    const seen: unknown[] = [];
    await onObject(cluster, key, async (live) => {
      seen.push(live.metadata.labels?.count);
      if (live.metadata.labels?.count === undefined) await cluster.patch(live, touch);
    });
    expect(seen).toEqual([undefined, "1"]);
  });
});

describe("an object that was seen", () => {
  it("is not read again", async () => {
    const { cluster, other, reads } = watched();
    const seen = await other.get(key);
    const read = reads();
    await onObject(cluster, key, (live) => cluster.patch(live, touch), seen);
    expect(reads()).toBe(read);
  });

  it("long ago -> read once it conflicts", async () => {
    const { cluster, other } = watched();
    const seen: KubeObject | undefined = await other.get(key);
    await someoneElseWrites(other);
    const patched = await onObject(cluster, key, (live) => cluster.patch(live, touch), seen);
    expect(patched?.metadata.labels).toEqual({ x: "y", count: "1" });
  });
});

describe("an object that is gone", () => {
  it("before -> undefined, nothing is tried", async () => {
    const { cluster } = watched();
    const result = await onObject(cluster, { ...key, name: "u" }, failing("unavailable"));
    expect(result).toBeUndefined();
  });

  it("in between -> undefined", async () => {
    const { cluster } = watched(async ({ other }) => {
      const live = await other.get(key);
      if (live !== undefined) await other.delete(live);
    });
    expect(await onObject(cluster, key, (live) => cluster.patch(live, touch))).toBeUndefined();
  });
});

it("an object that was replaced just as it was not found -> acted on anew", async () => {
  const { cluster } = watched(async ({ other, attempt }) => {
    if (attempt > 1) return;
    const live = await other.get(key);
    if (live !== undefined) await other.delete(live);
    await other.create({ ...template, metadata: { ...template.metadata, uid: "another" } });
    throw new ClusterError("not-found", "x");
  });
  const patched = await onObject(cluster, key, (live) => cluster.patch(live, touch));
  expect(patched?.metadata.labels).toEqual({ x: "y" });
});

describe("other failures", () => {
  it.each(["forbidden", "invalid", "already-exists", "unavailable", "expired"] as const)(
    "%s -> thrown at once",
    async (failure) => {
      const { cluster, reads } = watched();
      await expect(onObject(cluster, key, failing(failure))).rejects.toMatchObject({ failure });
      expect(reads()).toBe(1);
    },
  );

  it("a bug -> thrown at once", async () => {
    const { cluster } = watched();
    const buggy = async () => {
      throw new TypeError("x");
    };
    await expect(onObject(cluster, key, buggy)).rejects.toThrow(TypeError);
  });

  it("something else that is not found, while the object stands -> thrown: the act was not done", async () => {
    const { cluster } = watched();
    await expect(onObject(cluster, key, failing("not-found"))).rejects.toMatchObject({ failure: "not-found" });
  });
});
