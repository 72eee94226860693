import { describe, expect, test } from "vitest";
import { HOST } from "../../functions/rewrite-urls/hosts.ts";
import { ClusterError } from "../../shared/cluster/cluster.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { stringAt } from "../../shared/objects/path.ts";
import { type Bench, bench } from "../build/bench.ts";
import { withLists } from "../build/lists.ts";
import {
  annotated,
  cluster,
  inNamespace,
  kubeadmConfigTemplate,
  machineDeployment,
  metal3Machine,
  metal3MachineTemplate,
  noon,
} from "../build/objects.ts";
import { bareMetalHost, IMAGE_URL, image, OLD, RULES, rulesOf, under, withSpec, withStatus } from "./world.ts";

const FILE = `${OLD}/os.qcow2`;
const template = withSpec(metal3MachineTemplate("t"), image({ url: FILE }));
const elsewhere = inNamespace(template, "other");
const machine = annotated(withSpec(metal3Machine("m"), { image: { url: FILE } }), { [HOST]: "metal/h" });
const hostElsewhere = inNamespace(bareMetalHost("h"), "metal");

/** A Cluster that its controller says was unpaused so many minutes ago. */
function unpaused(minutes: number, phase = "Provisioned"): KubeObject {
  const lastTransitionTime = noon(-minutes).toString({ smallestUnit: "second" });
  return withStatus(cluster(), { phase, conditions: [{ type: "Paused", status: "False", lastTransitionTime }] });
}

function generation(of: number, observedGeneration: number): KubeObject {
  const one = withStatus(cluster(), { observedGeneration });
  return { ...one, metadata: { ...one.metadata, generation: of } };
}

interface Counted {
  readonly world: Bench;
  readonly requests: string[];
  lists(): readonly string[];
}

/** A world that counts what is asked of it; `failing` kinds cannot be listed. */
function counted(objects: readonly KubeObject[], failing: readonly string[] = []): Counted {
  const requests: string[] = [];
  const world = bench(objects, {}, (inner) =>
    withLists(
      {
        ...inner,
        async get(key) {
          requests.push(`get ${key.kind}`);
          return inner.get(key);
        },
      },
      async (kind, options) => {
        requests.push(`list ${kind.kind} in ${options?.namespace ?? "all namespaces"}`);
        if (failing.includes(kind.kind)) throw new ClusterError("forbidden", "not allowed");
        return inner.list(kind, options);
      },
    ),
  );
  return { world, requests, lists: () => requests.filter((one) => one.startsWith("list")) };
}

const objects = [template, elsewhere, machine, hostElsewhere, machineDeployment("md"), kubeadmConfigTemplate("k")];

describe("an update of a Cluster", () => {
  test.each<[string, KubeObject]>([
    ["it was unpaused long ago", unpaused(6)],
    ["it has no Paused condition, and its controller knows its spec", generation(3, 3)],
    ["it is paused", cluster("mgmt", { paused: true })],
  ])("%s -> no request at all", async (_situation, one) => {
    const { world, requests } = counted([one, ...objects]);
    await world.send(under(RULES), "update", one);
    expect(requests).toEqual([]);
  });

  test("no rule holds in its namespace -> no request at all", async () => {
    const one = unpaused(1);
    const { world, requests } = counted([one, ...objects]);
    await world.send(under(rulesOf({ namespaces: ["other"] })), "update", one);
    expect(requests).toEqual([]);
  });

  test.each<[string, KubeObject, readonly KubeObject[]]>([
    ["it is paused again", unpaused(1), [cluster("mgmt", { paused: true })]],
    ["it is gone", unpaused(1), []],
  ])("%s -> it is read, and nothing is listed", async (_situation, one, live) => {
    const { world, requests } = counted([...live, ...objects]);
    await world.send(under(RULES), "update", one);
    expect(requests).toEqual(["get Cluster"]);
  });

  test.each<[string, KubeObject]>([
    ["it was just unpaused", unpaused(1)],
    ["its spec has just changed, and it has no Paused condition", generation(3, 2)],
  ])(
    "%s -> only its namespace is listed, each kind once or, where URLs stand beside metadata, twice",
    async (_s, one) => {
      const { world, lists } = counted([one, ...objects]);
      await world.send(under(RULES), "update", one);
      expect(lists().filter((list) => !list.endsWith(" in sylva"))).toEqual(["list Namespace in all namespaces"]);
      expect(lists().filter((list) => list.includes("Metal3Machine "))).toHaveLength(1);
      expect(lists().filter((list) => list.includes("KubeadmConfigTemplate "))).toHaveLength(2);
      expect(stringAt(await world.live(template), IMAGE_URL)).not.toBe(FILE);
      expect(stringAt(await world.live(elsewhere), IMAGE_URL)).toBe(FILE);
    },
  );

  test("a host in another namespace, which is not looked at -> its machine's image counts as settled", async () => {
    const { world } = counted([unpaused(1), ...objects]);
    await world.send(under(RULES), "update", unpaused(1));
    expect(stringAt(await world.live(machine), "spec.image.url")).toBe(FILE);
    await world.sweep(under(RULES));
    expect(stringAt(await world.live(machine), "spec.image.url")).not.toBe(FILE);
  });

  test("a kind that bears on it cannot be read -> refused", async () => {
    const { world } = counted([unpaused(1), ...objects], ["MachineDeployment"]);
    await world.send(under(RULES), "update", unpaused(1));
    expect(stringAt(await world.live(template), IMAGE_URL)).toBe(FILE);
    expect(world.cluster.events().map(({ note }) => note)).toContainEqual(expect.stringMatching(/could not be read/));
  });

  test("a hundred updates after one unpausing -> one look; unpaused again, or other rules -> another", async () => {
    const { world, lists } = counted([unpaused(1), ...objects]);
    const looks = () => lists().filter((list) => list.startsWith("list Metal3Machine ")).length;
    const one = unpaused(1);
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => world.send(under(RULES), "update", unpaused(1, `p${index}`))),
    );
    await world.send(under(RULES), "update", one);
    expect(looks()).toBe(1);
    await world.send(under(rulesOf({ check: "warn" }, "http://x/")), "update", one);
    expect(looks()).toBe(2);
    const again = unpaused(0);
    await world.cluster.patch(await world.live(one), { status: again.status });
    await world.send(under(RULES), "update", again);
    expect(looks()).toBe(3);
  });

  test("a look that failed -> the next update looks again", async () => {
    let isAway = true;
    const world = bench([unpaused(1), template], {}, (inner) => ({
      ...inner,
      async patch(object, patch) {
        if (isAway) throw new ClusterError("unavailable", "timeout");
        return inner.patch(object, patch);
      },
    }));
    await expect(world.send(under(RULES), "update", unpaused(1))).rejects.toThrow(/failed/);
    isAway = false;
    await world.send(under(RULES), "update", unpaused(1));
    expect(stringAt(await world.live(template), IMAGE_URL)).not.toBe(FILE);
  });
});

describe("a template's event", () => {
  test("with a URL that a rule takes -> only what can bear on it is listed", async () => {
    const { world, lists } = counted([cluster(), ...objects]);
    await world.send(under(RULES), "update", template);
    // Elsewhere only what can name a namespace, and the hosts, which machines of any namespace may claim.
    expect(lists().filter((list) => !list.endsWith(" in sylva"))).toEqual([
      "list Namespace in all namespaces",
      "list Cluster in all namespaces",
      "list MachineDeployment in all namespaces",
      "list BareMetalHost in all namespaces",
    ]);
  });
});

describe("a sweep", () => {
  test("lists each kind once, and those whose facts need only metadata once more", async () => {
    const { world, lists } = counted([cluster(), ...objects]);
    expect((await world.sweep(under(RULES))).counts).toMatchObject({ objects: 4, rewrite: 3 });
    const twice = lists().filter((one, index) => lists().indexOf(one) !== index);
    expect(twice).toEqual(["list KubeadmConfigTemplate in all namespaces"]);
  });

  test("pages that expire -> begun anew, nothing is done twice or lost", async () => {
    const text = withSpec(kubeadmConfigTemplate("k"), { template: { spec: { preKubeadmCommands: [`curl ${FILE}`] } } });
    const kind = keyOf(text);
    let left = 2;
    const world = bench([text], {}, (inner) => ({
      ...inner,
      async *pages(asked, options) {
        yield* inner.pages(asked, options);
        if (asked.kind === kind.kind && left-- > 0) throw new ClusterError("expired", "gone");
      },
    }));
    await world.sweep(under(RULES));
    expect(world.cluster.events()).toHaveLength(1);
  });

  test("again and again, refused in other words -> one Event, sent once within half an hour", async () => {
    let reason = "one";
    let sent = 0;
    const world = bench([template], {}, (inner) => ({
      ...inner,
      async patch() {
        throw new ClusterError("invalid", reason);
      },
      async record(event) {
        sent += 1;
        return inner.record(event);
      },
    }));
    for (reason of ["one", "two", "three"]) {
      await world.sweep(under(RULES));
      world.pass({ minutes: 10 });
    }
    expect(sent).toBe(1);
    await world.sweep(under(RULES));
    expect(sent).toBe(2);
    expect(world.cluster.events()).toHaveLength(1);
  });
});
