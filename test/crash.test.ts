import { describe, expect, test } from "vitest";
import { handle as collect } from "../functions/collect-templates/index.ts";
import { handle as retain } from "../functions/retain-templates/index.ts";
import type { Handle } from "../shared/acts/context.ts";
import type { Cluster } from "../shared/cluster/cluster.ts";
import { hasHold, isRetired } from "../shared/marks/marks.ts";
import { isTerminating, type KubeObject } from "../shared/objects/object.ts";
import { type Bench, bench } from "./build/bench.ts";
import {
  cluster,
  held,
  machineDeployment,
  metal3Machine,
  metal3MachineTemplate,
  noon,
  ownedBy,
  retired,
  terminating,
} from "./build/objects.ts";

const mgmt = cluster();
const fields = [{ manager: "helm", operation: "Apply", fieldsV1: { "f:spec": {} } }];
const bare = ownedBy(metal3MachineTemplate("t"), mgmt);
const t: KubeObject = { ...bare, metadata: { ...bare.metadata, managedFields: fields } };
const deployment = machineDeployment("md", { uses: t });
const machine = metal3Machine("m", { clonedFrom: t });

/** Dies with its n-th write, counted from 0: that one and all later ones never reach the cluster. */
function dying(atWrite: number): { readonly wrap: (inner: Cluster) => Cluster; readonly writes: () => number } {
  let writes = 0;
  const write = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    writes += 1;
    if (writes > atWrite) throw new Error("killed");
    return run();
  };
  const wrap = (inner: Cluster): Cluster => ({
    ...inner,
    patch: (one, patch) => write(() => inner.patch(one, patch)),
    create: (one, options) => (options?.dryRun ? inner.create(one, options) : write(() => inner.create(one))),
    delete: (one) => write(() => inner.delete(one)),
    record: (event) => write(() => inner.record(event)),
  });
  return { wrap, writes: () => writes };
}

interface Story {
  readonly name: string;
  readonly objects: readonly KubeObject[];
  readonly handle: Handle;
  /** What happens before the function runs; returns what its event shows. */
  readonly before: (b: Bench) => Promise<{ readonly action: "update" | "delete"; readonly object: KubeObject }>;
  /** How the template must stand once the next sweeps are through. */
  readonly outcome: "gone" | "held, live" | "held, retired";
}

const STORIES: readonly Story[] = [
  {
    name: "let go, Terminating",
    objects: [mgmt, held(terminating(t, noon(-30)))],
    handle: collect,
    before: async () => ({ action: "delete", object: machine }),
    outcome: "gone",
  },
  {
    name: "let go, by our own deletion",
    objects: [held(retired(t, noon(-30)))],
    handle: collect,
    before: async (b) => ({ action: "update", object: await b.live(t) }),
    outcome: "gone",
  },
  {
    name: "renew, Terminating",
    objects: [mgmt, held(terminating(t, noon(-30))), deployment],
    handle: collect,
    before: async () => ({ action: "update", object: deployment }),
    outcome: "held, live",
  },
  {
    name: "renew, Terminating, with a machine beside",
    objects: [mgmt, held(terminating(t, noon(-30))), machine, deployment],
    handle: collect,
    before: async () => ({ action: "update", object: deployment }),
    outcome: "held, live",
  },
  {
    name: "restore",
    objects: [mgmt, t, machine],
    handle: retain,
    before: async (b) => {
      await b.cluster.delete(await b.live(t));
      const gone = b.changes.at(-1)?.object;
      if (gone === undefined) throw new Error("not deleted");
      return { action: "delete", object: gone };
    },
    outcome: "held, retired",
  },
];

for (const story of STORIES) {
  describe(`killed while it does: ${story.name}`, () => {
    test.each([0, 1, 2, 3, 4, 5, 6, 7])(
      "before write %d -> the event again and a sweep finish the job",
      async (atWrite) => {
        const { b, event } = await killed(story, atWrite);
        await story.handle(b.context, { type: "object", ...event });
        await settled(b);
        expect(await standing(b)).toBe(story.outcome);
      },
    );

    // A restore has nothing but the event until its copy is made.
    const first = story.handle === retain ? 1 : 0;
    test.each([0, 1, 2, 3, 4, 5, 6, 7].filter((n) => n >= first))(
      "before write %d -> sweeps alone finish the job",
      async (atWrite) => {
        const { b } = await killed(story, atWrite);
        await settled(b);
        expect(await standing(b)).toBe(story.outcome);
      },
    );
  });
}

test("renewal killed while nothing stands, and nobody wants it any more but a machine -> it comes back retired", async () => {
  const { b } = await killed({ ...(STORIES[3] as Story) }, 2);
  expect(await b.has(t)).toBe(false);
  await b.cluster.delete(await b.live(deployment));
  await settled(b);
  expect(await standing(b)).toBe("held, retired");
});

test("renewal killed while nothing stands, and nothing needs it any more -> it stays gone, no copy is left", async () => {
  const { b } = await killed(STORIES[2] as Story, 2);
  await b.cluster.delete(await b.live(deployment));
  await settled(b);
  expect(await standing(b)).toBe("gone");
});

test("renewal killed while nothing stands, and somebody creates it -> theirs stays as it is", async () => {
  const { b } = await killed(STORIES[2] as Story, 2);
  const theirs = await b.cluster.create({
    ...bare,
    metadata: { name: "t", namespace: "sylva", managedFields: fields },
    spec: { theirs: true },
  });
  await settled(b);
  expect((await b.live(t)).metadata.uid).toBe(theirs.metadata.uid);
  expect((await b.live(t)).spec).toEqual({ theirs: true });
});

/** The cluster after the function was killed in the middle of its work; the context reaches it again. */
async function killed(story: Story, atWrite: number) {
  const { wrap } = dying(atWrite);
  const b = bench(story.objects);
  const event = await story.before(b);
  const doomed = { ...b.context, cluster: wrap(b.cluster) };
  await story.handle(doomed, { type: "object", ...event }).catch(() => undefined);
  return { b, event };
}

async function settled(b: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await b.sweep(retain);
    await b.sweep(collect);
    b.pass({ minutes: 1 });
  }
}

async function standing(b: Bench): Promise<string> {
  expect(b.cluster.all().filter(({ kind }) => kind === "ConfigMap")).toEqual([]);
  const live = await b.cluster.get({
    group: "infrastructure.cluster.x-k8s.io",
    kind: t.kind,
    namespace: "sylva",
    name: "t",
  });
  if (live === undefined) return "gone";
  expect([live.spec, live.metadata.managedFields]).toEqual([t.spec, fields]);
  expect(isTerminating(live)).toBe(false);
  return `${hasHold(live) ? "held" : "bare"}, ${isRetired(live) ? "retired" : "live"}`;
}
