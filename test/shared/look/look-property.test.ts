import fc from "fast-check";
import { expect, test } from "vitest";
import { decide } from "../../../functions/collect-templates/decide.ts";
import { snapshotCluster } from "../../../shared/cluster/snapshot/cluster.ts";
import { type Facts, factsFrom, gatherFacts } from "../../../shared/look/facts.ts";
import { isTemplateKind } from "../../../shared/objects/kinds.ts";
import { type KubeObject, keyOf, keyText } from "../../../shared/objects/object.ts";
import {
  cluster,
  held,
  inNamespace,
  kubeadmConfig,
  kubeadmConfigTemplate,
  labelled,
  machineDeployment,
  machineSet,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  namespace,
  noon,
  object,
  retired,
  terminating,
} from "../../build/objects.ts";

const HOMES = ["sylva", "other"];
const TERMS = {
  now: noon(60),
  collectGrace: Temporal.Duration.from("PT10M"),
  renewAfter: Temporal.Duration.from("PT2M"),
};

const name = fc.constantFrom("a", "b");
const home = fc.constantFrom(...HOMES);
const state = fc.constantFrom("live", "retired", "terminating", "terminating");
const clusterName = fc.constantFrom("c1", "c2", undefined);

function inState(one: KubeObject, is: string): KubeObject {
  if (is === "live") return held(one);
  return is === "retired" ? held(retired(one, noon(-90))) : held(terminating(retired(one, noon(-90)), noon(-90)));
}

function ofCluster(one: KubeObject, named: string | undefined): KubeObject {
  return named === undefined ? one : labelled(one, { "cluster.x-k8s.io/cluster-name": named });
}

const template = fc
  .tuple(fc.constantFrom("machine", "data", "config"), name, name, home, state, clusterName)
  .map(([kind, own, to, where, is, of]) => {
    const one = {
      machine: () => metal3MachineTemplate(own, { uses: metal3DataTemplate(to) }),
      data: () => metal3DataTemplate(own),
      config: () => kubeadmConfigTemplate(own),
    }[kind]?.();
    return inNamespace(inState(ofCluster(one ?? metal3DataTemplate(own), of), is), where);
  });

const referrer = fc
  .tuple(
    fc.constantFrom("machine", "config", "deployment", "set", "vague", "far"),
    fc.nat(5),
    name,
    name,
    home,
    fc.boolean(),
    clusterName,
  )
  .map(([kind, index, to, data, where, isLeaving, of]) => {
    const one = {
      machine: () =>
        metal3Machine(`m${index}`, { clonedFrom: metal3MachineTemplate(to), uses: metal3DataTemplate(data) }),
      config: () => kubeadmConfig(`k${index}`, { clonedFrom: kubeadmConfigTemplate(to) }),
      deployment: () =>
        machineDeployment(`md${index}`, { uses: [metal3MachineTemplate(to), kubeadmConfigTemplate(data)] }),
      set: () => machineSet(`ms${index}`, { uses: metal3MachineTemplate(to) }),
      // Says less than it means, or means another namespace.
      vague: () =>
        object("Metal3Data.infrastructure.cluster.x-k8s.io/v1beta1", `v${index}`, {
          spec: { template: { kind: "Metal3DataTemplate" } },
        }),
      far: () =>
        object("Metal3Data.infrastructure.cluster.x-k8s.io/v1beta1", `f${index}`, {
          spec: { template: { name: to, namespace: HOMES[index % 2] } },
        }),
    }[kind]?.();
    const placed = inNamespace(ofCluster(one ?? metal3Machine("m"), of), where);
    return isLeaving ? terminating(placed) : placed;
  });

const clusters = fc
  .tuple(fc.constantFrom("c1", "c2"), home, fc.boolean(), fc.boolean())
  .map(([named, where, paused, isLeaving]) => {
    const one = inNamespace(cluster(named, { paused }), where);
    return isLeaving ? terminating(one) : one;
  });

const world = fc
  .tuple(
    fc.array(template, { maxLength: 10 }),
    fc.array(referrer, { maxLength: 14 }),
    fc.array(clusters, { maxLength: 3 }),
  )
  .map((parts) => [...new Map(parts.flat().map((one) => [keyText(keyOf(one)), one])).values()]);

/** The verdict and its reason; of who is named only that somebody is, since a look holds a few of those that count alike. */
function verdictOf(one: KubeObject, facts: Facts): string {
  const decision = decide(one, facts, TERMS);
  return `${keyText(keyOf(one))}: ${decision.verdict} ${decision.because}`;
}

test("what a look holds, about all or about one template -> the same decisions as from every object whole", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (objects) => {
      const cluster = snapshotCluster(objects);
      const templates = objects.filter((one) => isTemplateKind(keyOf(one)));
      const whole = factsFrom(objects, HOMES.map(namespace), []);
      const look = await gatherFacts(cluster);
      const held = await gatherFacts(cluster, { all: true });
      for (const one of templates) {
        const expected = verdictOf(one, whole);
        expect(verdictOf(one, look)).toBe(expected);
        expect(verdictOf(one, held)).toBe(expected);
        const about = verdictOf(one, await gatherFacts(cluster, { about: [keyOf(one)] }));
        // A retired template elsewhere that names it keeps it until a look at all of them.
        const isKeptFromAfar = about.endsWith("keep needed") && !expected.endsWith("keep needed");
        if (!isKeptFromAfar) expect(about).toBe(expected);
      }
    }),
    { numRuns: 400 },
  );
}, 60_000);

test("ten thousand machines of ten templates -> a look holds what grows with the templates", async () => {
  const templates = Array.from({ length: 10 }, (_, index) => metal3MachineTemplate(`t${index}`));
  const machines = Array.from({ length: 10_000 }, (_, index) =>
    metal3Machine(`m${index}`, { clonedFrom: templates[index % 10] ?? metal3MachineTemplate("t") }),
  );
  const { graph } = await gatherFacts(snapshotCluster([cluster(), ...templates, ...machines]));
  expect(graph.objects.length).toBeLessThan(100);
});
