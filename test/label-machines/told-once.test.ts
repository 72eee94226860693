import { describe, expect, test } from "vitest";
import { handle } from "../../functions/label-machines/index.ts";
import { ADOPT, ADOPTION_REFUSED, ALLOW_ROLLOUT } from "../../functions/label-machines/marks.ts";
import { type Cluster, ClusterError } from "../../shared/cluster/cluster.ts";
import { annotation, PAUSED } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { type Bench, bench } from "../build/bench.ts";
import { annotated } from "../build/objects.ts";
import {
  changed,
  cluster,
  config,
  kcp,
  machine,
  NAMES,
  replaced,
  secrets,
  seen,
  withExistence,
  without,
  world,
} from "./build.ts";

const all = world();
const [ca] = secrets as [KubeObject];
const members = NAMES.flatMap((name) => [machine(name), config(name)]);
const unpaused = changed(kcp, { metadata: { annotations: { [PAUSED]: null } } });
const older = (name: string, version: string) => changed(machine(name), { spec: { version } });
const unlike = (name: string) => changed(config(name), { spec: { preKubeadmCommands: ["true"] } });
const saying = (message: string) => ({
  ...unpaused,
  status: { conditions: [{ type: "Available", status: "False", message }] },
});
const withoutPlane = (...objects: readonly KubeObject[]) =>
  replaced(
    without(all, kcp),
    annotated(changed(cluster, { spec: { controlPlaneRef: null } }), { [ADOPT]: "true" }),
    ...objects,
  );

function start(objects: readonly KubeObject[], wrap: (inner: Cluster) => Cluster = (inner) => inner): Bench {
  return bench(objects, {}, (inner) => wrap(withExistence(inner)));
}

/** Makes what stands in `on` what these objects are, as people and other controllers do. */
async function become(on: Bench, objects: readonly KubeObject[]): Promise<void> {
  for (const one of objects)
    await on.cluster.patch(await on.live(one), {
      spec: one.spec,
      ...(one.status !== undefined && { status: one.status }),
    });
}

const told = (on: Bench, reason: string) => on.cluster.events().filter((event) => event.reason === reason);

describe("said again at a sweep with another text", () => {
  test.each<
    readonly [
      situation: string,
      count: number,
      reason: string,
      before: readonly KubeObject[],
      then: readonly KubeObject[],
    ]
  >([
    [
      "refused for one machine, then for two",
      1,
      "AdoptionRefused",
      [older("cp-1", "v1.30.0")],
      [older("cp-2", "v1.30.0")],
    ],
    [
      "refused for one field, then for another",
      1,
      "AdoptionRefused",
      [unlike("cp-1")],
      [config("cp-1"), unlike("cp-2")],
    ],
    [
      "refused for another number",
      1,
      "AdoptionRefused",
      [changed(kcp, { spec: { replicas: 5 } })],
      [changed(kcp, { spec: { replicas: 7 } })],
    ],
    ["refused for another reason", 2, "AdoptionRefused", [unlike("cp-1")], [config("cp-1"), older("cp-2", "v1.30.0")]],
    ["refused for one reason more", 2, "AdoptionRefused", [unlike("cp-1")], [changed(kcp, { spec: { replicas: 5 } })]],
    [
      "pending, its condition says another thing",
      1,
      "AdoptionPending",
      [...members.map(seen), saying("etcd")],
      [saying("API")],
    ],
    [
      "pending, then its Cluster is paused",
      2,
      "AdoptionPending",
      [...members.map(seen), saying("etcd")],
      [changed(cluster, { spec: { paused: true } })],
    ],
  ])("%s -> %i of %s", async (_, count, reason, before, then) => {
    const on = start(replaced(all, ...before));
    await on.sweep(handle);
    expect(told(on, reason)).toHaveLength(1);
    await become(on, then);
    await on.sweep(handle);
    await on.sweep(handle);
    expect(told(on, reason)).toHaveLength(count);
  });

  test("a Cluster without a control plane is refused for one machine, then for two -> one", async () => {
    const on = start(withoutPlane(older("cp-1", "v1.30.0")));
    await on.sweep(handle);
    await become(on, [older("cp-2", "v1.30.0")]);
    await on.sweep(handle);
    expect(told(on, "AdoptionRefused")).toHaveLength(1);
  });
});

test("labelling fails, and is warned of again for two machines -> one Event", async () => {
  let isBroken = true;
  const on = start(replaced(all, annotated(kcp, { [ALLOW_ROLLOUT]: "true" }), older("cp-1", "v1.32.0")), (inner) => ({
    ...inner,
    async patch(object, patch) {
      if (isBroken && object.kind === "Machine") throw new ClusterError("unavailable", "timeout");
      return inner.patch(object, patch);
    },
  }));
  await expect(on.send(handle, "update", kcp)).rejects.toThrow("timeout");
  await become(on, [older("cp-2", "v1.32.0")]);
  isBroken = false;
  await on.send(handle, "update", kcp);
  expect(told(on, "AdoptionWarning")).toHaveLength(1);
});

describe("a refusal that its mark already tells", () => {
  function noting(objects: readonly KubeObject[]) {
    const sent: string[] = [];
    const on = start(objects, (inner) => ({
      ...inner,
      async record(event) {
        sent.push(event.reason);
        return inner.record(event);
      },
    }));
    return { on, sent };
  }

  test("an event -> not sent again", async () => {
    const { on, sent } = noting(without(all, ca));
    await on.send(handle, "update", kcp);
    await on.send(handle, "update", await on.live(kcp));
    expect(sent).toEqual(["AdoptionRefused"]);
  });

  test("a sweep -> sent again after half an hour, since the API server forgets Events", async () => {
    const { on, sent } = noting(without(all, ca));
    await on.send(handle, "update", kcp);
    await on.sweep(handle);
    expect(sent).toEqual(["AdoptionRefused"]);
    on.pass({ minutes: 40 });
    await on.sweep(handle);
    expect(sent).toEqual(["AdoptionRefused", "AdoptionRefused"]);
    expect(told(on, "AdoptionRefused")).toHaveLength(1);
  });

  test("the mark cannot be written -> told all the same, and the next event marks it", async () => {
    let isBroken = true;
    const on = start(without(all, ca), (inner) => ({
      ...inner,
      async patch(object, patch) {
        if (isBroken) throw new ClusterError("unavailable", "timeout");
        return inner.patch(object, patch);
      },
    }));
    await expect(on.send(handle, "update", kcp)).rejects.toThrow("timeout");
    expect(told(on, "AdoptionRefused")).toHaveLength(1);
    isBroken = false;
    await on.send(handle, "update", kcp);
    expect(annotation(await on.live(kcp), ADOPTION_REFUSED)).toBe("secret-missing");
    expect(told(on, "AdoptionRefused")).toHaveLength(1);
  });
});
