import { describe, expect, it } from "vitest";
import { type Cluster, ClusterError, type ClusterFailure } from "../../../shared/cluster/cluster.ts";
import { snapshotCluster } from "../../../shared/cluster/snapshot/cluster.ts";
import { gatherFacts } from "../../../shared/look/facts.ts";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import { withLists } from "../../build/lists.ts";
import {
  cluster,
  kubeadmConfigTemplate,
  machineDeployment,
  metal3Machine,
  metal3MachineTemplate,
  namespace,
  object,
  terminating,
} from "../../build/objects.ts";

const INFRA = "infrastructure.cluster.x-k8s.io";
const template = terminating(metal3MachineTemplate("t"));
const fooMachine = object(`FooMachine.${INFRA}/v1`, "f");

/** The lists that were asked for, and a cluster where `failing` kinds cannot be listed. */
function asked(objects: readonly KubeObject[], failing: Readonly<Record<string, ClusterFailure>> = {}) {
  const inner = snapshotCluster(objects);
  const lists: string[] = [];
  const wrapped = withLists(inner, async (kind, options) => {
    lists.push(`${kind.kind}${options?.metadataOnly ? " (metadata)" : ""}`);
    const failure = failing[kind.kind];
    if (failure !== undefined) throw new ClusterError(failure, `${kind.kind}: ${failure}`);
    return inner.list(kind, options);
  });
  return { wrapped, lists };
}

describe("gathering", () => {
  it("lists every kind that can refer once, templates before their referrers, metadata alone where that decides", async () => {
    const world = [
      fooMachine,
      metal3Machine("m"),
      template,
      cluster(),
      object("Secret.v1", "s"),
      object("Pod.v1", "p"),
    ];
    const { wrapped, lists } = asked(world);
    await gatherFacts(wrapped);
    expect([...lists].sort()).toEqual(
      ["Cluster", "FooMachine (metadata)", "Metal3Machine", "Metal3MachineTemplate", "Namespace (metadata)"].sort(),
    );
    expect(lists.indexOf("Metal3MachineTemplate")).toBeLessThan(lists.indexOf("Metal3Machine"));
  });

  it("lists further kinds on demand", async () => {
    const { wrapped, lists } = asked([template, object("IPPool.ipam.metal3.io/v1alpha1", "p")]);
    await gatherFacts(wrapped, { also: [{ group: "ipam.metal3.io", kind: "IPPool" }] });
    expect(lists).toContain("IPPool (metadata)");
  });

  it("brings graph, need and want together", async () => {
    const deployment = machineDeployment("md", { uses: template });
    const facts = await gatherFacts(asked([template, deployment, cluster()]).wrapped);
    expect(facts.needed.by(keyOf(template))).toEqual([keyOf(deployment)]);
    expect(facts.wantedBy(keyOf(template))).toEqual([keyOf(deployment)]);
    expect(facts.unread).toEqual([]);
    expect(facts.doubtAbout(keyOf(template))).toBeUndefined();
  });
});

describe("a kind that cannot be listed", () => {
  it.each(["forbidden", "unavailable", "not-found", "invalid", "expired"] as const)(
    "%s -> unread, a doubt about what it can refer to; the rest is known",
    async (failure) => {
      const boot = terminating(kubeadmConfigTemplate("b"));
      const { wrapped } = asked([template, boot, metal3Machine("m")], { Metal3Machine: failure });
      const facts = await gatherFacts(wrapped);
      expect(facts.unread).toEqual([{ group: INFRA, kind: "Metal3Machine", reason: `Metal3Machine: ${failure}` }]);
      expect(facts.doubtAbout(keyOf(template))).toMatchObject({ because: "unreadable-kind" });
      expect(facts.doubtAbout(keyOf(boot))).toBeUndefined();
    },
  );

  it("a bug is no doubt -> thrown", async () => {
    const broken: Cluster = {
      ...snapshotCluster([template]),
      list: async () => {
        throw new TypeError("x");
      },
    };
    await expect(gatherFacts(broken)).rejects.toThrow(TypeError);
  });

  it("discovery fails -> thrown", async () => {
    const broken: Cluster = {
      ...snapshotCluster([template]),
      discover: async () => {
        throw new ClusterError("unavailable", "x");
      },
    };
    await expect(gatherFacts(broken)).rejects.toMatchObject({ failure: "unavailable" });
  });

  it.each([
    ["a hidden kind of a CAPI group -> a doubt about all templates", INFRA, true],
    ["a hidden kind of another group -> none of our business", "example.com", false],
  ])("%s", async (_, group, expected) => {
    const inner = snapshotCluster([template]);
    const hiding: Cluster = {
      ...inner,
      discover: async () => ({ ...(await inner.discover()), hidden: [{ group, plural: "foos" }] }),
    };
    const facts = await gatherFacts(hiding);
    expect(facts.doubtAbout(keyOf(template)) !== undefined).toBe(expected);
  });

  it("kinds that are not served have no objects, and raise no doubt", async () => {
    const facts = await gatherFacts(asked([template]).wrapped);
    expect(facts.needed.has(keyOf(template))).toBe(false);
    expect(facts.unread).toEqual([]);
  });
});

describe("namespaces", () => {
  it.each<[string, readonly KubeObject[], Readonly<Record<string, ClusterFailure>>, boolean]>([
    ["that stay", [namespace()], {}, false],
    ["that are Terminating", [terminating(namespace())], {}, true],
    ["that cannot be listed: unknown counts as leaving", [namespace()], { Namespace: "forbidden" }, true],
  ])("%s -> leaving: $3", async (_, objects, failing, expected) => {
    const facts = await gatherFacts(asked([...objects, template], failing).wrapped);
    expect(facts.isNamespaceLeaving("sylva")).toBe(expected);
  });

  it("that are not there -> leaving", async () => {
    expect((await gatherFacts(asked([template]).wrapped)).isNamespaceLeaving("nowhere")).toBe(true);
  });
});
