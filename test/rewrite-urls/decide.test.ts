import { describe, expect, test } from "vitest";
import { decide, decideAll } from "../../functions/rewrite-urls/decide.ts";
import { HOST } from "../../functions/rewrite-urls/hosts.ts";
import { parseRules } from "../../functions/rewrite-urls/rules-file.ts";
import { DELETE_FOR_MOVE, PAUSED, RETAIN, TOPOLOGY_OWNED } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import {
  annotated,
  cluster,
  clusterClass,
  held,
  kubeadmConfig,
  kubeadmConfigTemplate,
  kubeadmControlPlane,
  labelled,
  machineDeployment,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  NOON,
  object,
  ownedBy,
  retired,
  rke2ControlPlane,
  terminating,
} from "../build/objects.ts";
import { bareMetalHost, factsOf, IMAGE_URL, image, NEW, OLD, RULES, withSpec, withStatus } from "./world.ts";

const FILE = `${OLD}/os.qcow2`;
const template = withSpec(metal3MachineTemplate("t"), image({ url: FILE }));
const text = { template: { spec: { files: [{ path: "/x", content: `curl ${FILE}` }] } } };
const inline = { kubeadmConfigSpec: { preKubeadmCommands: [`curl ${FILE}`] } };

/** The verdict and reason for the first object in a cluster that holds all of them. */
function verdict([one, ...others]: readonly [KubeObject, ...KubeObject[]]): string {
  const { verdict, because } = decide(one, factsOf([one, ...others]), RULES, NOON);
  return `${verdict} ${because}`;
}

describe("one object", () => {
  const rows: readonly (readonly [string, readonly [KubeObject, ...KubeObject[]], string])[] = [
    ["a template with the old URL", [template], "rewrite matches-rule"],
    ["with another URL", [metal3MachineTemplate("t")], "leave no-match"],
    ["held and Terminating, still serving clones", [held(terminating(template))], "rewrite matches-rule"],
    ["retired", [retired(template)], "rewrite matches-rule"],
    ["deleted for a move", [annotated(template, { [DELETE_FOR_MOVE]: "" })], "leave off-limits"],
    ["opted out", [annotated(template, { [RETAIN]: "false" })], "leave opted-out"],
    ["topology-owned", [labelled(template, { [TOPOLOGY_OWNED]: "" })], "refuse topology-owned"],
    ["named by a ClusterClass, v1beta1", [template, clusterClass("c", { uses: template })], "refuse class-template"],
    [
      "named by a ClusterClass, v1beta2",
      [template, clusterClass("c", { version: "v1beta2", uses: template })],
      "refuse class-template",
    ],
    [
      "used by a MachineDeployment",
      [template, machineDeployment("md", { uses: template }), cluster()],
      "rewrite matches-rule",
    ],
    ["its Cluster is paused", [ownedBy(template, cluster()), cluster("mgmt", { paused: true })], "wait cluster-paused"],
    [
      "its Cluster is paused by annotation",
      [ownedBy(template, cluster()), annotated(cluster(), { [PAUSED]: "" })],
      "wait cluster-paused",
    ],
    [
      "the Cluster of its user is paused",
      [template, machineDeployment("md", { uses: template }), cluster("mgmt", { paused: true })],
      "wait cluster-paused",
    ],
    [
      "another Cluster is paused",
      [ownedBy(template, cluster()), cluster(), cluster("other", { paused: true })],
      "rewrite matches-rule",
    ],
    [
      "paused and named by a class",
      [ownedBy(template, cluster()), cluster("mgmt", { paused: true }), clusterClass("c", { uses: template })],
      "refuse class-template",
    ],
    ["a kubeadm control plane", [withSpec(kubeadmControlPlane("cp"), inline)], "refuse control-plane-inline"],
    [
      "of a class",
      [labelled(withSpec(kubeadmControlPlane("cp"), inline), { [TOPOLOGY_OWNED]: "" })],
      "refuse control-plane-inline",
    ],
    [
      "an RKE2 control plane",
      [withSpec(rke2ControlPlane("cp"), { files: [{ content: FILE }] })],
      "refuse control-plane-inline",
    ],
    [
      "a control plane with a URL of its own",
      [withSpec(rke2ControlPlane("cp"), { registrationAddress: FILE })],
      "refuse control-plane-inline",
    ],
    ["a control plane without", [kubeadmControlPlane("cp")], "leave no-match"],
    [
      "a control plane's template",
      [
        object("KubeadmControlPlaneTemplate.controlplane.cluster.x-k8s.io/v1beta1", "t", {
          spec: { template: { spec: inline } },
        }),
      ],
      "refuse immutable",
    ],
    [
      "a data template",
      [withSpec(metal3DataTemplate("d"), { metaData: { strings: [{ key: "image", value: FILE }] } })],
      "refuse immutable",
    ],
    [
      "another provider's machine template",
      [
        object("AWSMachineTemplate.infrastructure.cluster.x-k8s.io/v1beta2", "t", {
          spec: { template: { spec: { proxy: FILE } } },
        }),
      ],
      "refuse immutable",
    ],
    ["text in a bootstrap template", [withSpec(kubeadmConfigTemplate("t"), text)], "leave no-match"],
    ["a bootstrap config", [withSpec(kubeadmConfig("c"), { clusterConfiguration: { dns: FILE } })], "leave no-match"],
    ["a host", [bareMetalHost("h", { spec: { image: { url: FILE } } })], "leave no-match"],
    ["a MachineDeployment", [withSpec(machineDeployment("md"), { url: FILE })], "leave no-match"],
    ["a ConfigMap", [object("ConfigMap.v1", "c", { spec: { url: FILE }, data: { url: FILE } })], "leave no-match"],
  ];
  test.each(rows)("%s -> %s", (_situation, objects, outcome) => {
    expect(verdict(objects)).toBe(outcome);
  });
});

describe("a Metal3Machine and its host", () => {
  const machine = withSpec(metal3Machine("m"), { image: { url: FILE } });
  const claimed = annotated(machine, { [HOST]: "sylva/h" });
  const consumer = { consumerRef: { kind: "Metal3Machine", name: "m", namespace: "sylva" } };
  const rows: readonly (readonly [string, readonly [KubeObject, ...KubeObject[]], string])[] = [
    ["unclaimed", [machine, bareMetalHost("h")], "rewrite matches-rule"],
    ["a host without image", [claimed, bareMetalHost("h")], "rewrite matches-rule"],
    [
      "a host with an image in spec",
      [claimed, bareMetalHost("h", { spec: { image: { url: FILE } } })],
      "leave image-settled",
    ],
    [
      "a host with an image in status",
      [claimed, withStatus(bareMetalHost("h"), { provisioning: { image: { url: FILE } } })],
      "leave image-settled",
    ],
    [
      "a host with an empty image in status",
      [claimed, withStatus(bareMetalHost("h"), { provisioning: { image: { url: "" } } })],
      "rewrite matches-rule",
    ],
    [
      "a moved host whose status is not back yet",
      [
        claimed,
        annotated(bareMetalHost("h"), {
          "baremetalhost.metal3.io/status": JSON.stringify({ provisioning: { image: { url: FILE } } }),
        }),
      ],
      "leave image-settled",
    ],
    [
      "a host with a custom deploy",
      [claimed, bareMetalHost("h", { spec: { customDeploy: { method: "x" } } })],
      "leave image-settled",
    ],
    [
      "a host that names it, with an image, before it knows",
      [machine, bareMetalHost("h", { spec: { ...consumer, image: { url: FILE } } })],
      "leave image-settled",
    ],
    ["a host that names it, without image", [machine, bareMetalHost("h", { spec: consumer })], "rewrite matches-rule"],
    [
      "a host that names its namesake elsewhere",
      [
        machine,
        bareMetalHost("h", {
          spec: { consumerRef: { ...consumer.consumerRef, namespace: "x" }, image: { url: FILE } },
        }),
      ],
      "rewrite matches-rule",
    ],
    ["a host that is not there", [claimed, bareMetalHost("other")], "leave image-settled"],
    ["Terminating", [terminating(machine)], "leave image-settled"],
    ["of a paused Cluster", [machine, bareMetalHost("h")], "rewrite matches-rule"],
    ["without an image", [metal3Machine("m")], "leave no-match"],
  ];
  test.each(rows)("%s -> %s", (_situation, objects, outcome) => {
    expect(verdict(objects)).toBe(outcome);
  });

  test("the hosts could not be read -> refuse", () => {
    const facts = factsOf([machine], { group: "metal3.io", kind: "BareMetalHost" });
    expect(decide(machine, facts, RULES, NOON)).toMatchObject({ verdict: "refuse", because: "unreadable-kind" });
    expect(decide(template, factsOf([template, cluster()]), RULES, NOON)).toMatchObject({ verdict: "rewrite" });
  });
});

describe("what could not be read", () => {
  const owned = ownedBy(template, cluster());
  test.each([
    ["the classes", owned, { group: "cluster.x-k8s.io", kind: "ClusterClass" }, "refuse"],
    ["the Clusters", owned, { group: "cluster.x-k8s.io", kind: "Cluster" }, "refuse"],
    ["machines, its Cluster is known", owned, { group: "cluster.x-k8s.io", kind: "Machine" }, "rewrite"],
    ["its users, its Cluster is not known", template, { group: "cluster.x-k8s.io", kind: "MachineSet" }, "refuse"],
    ["hosts", owned, { group: "metal3.io", kind: "BareMetalHost" }, "rewrite"],
  ])("%s -> %s", (_situation, one, unread, outcome) => {
    expect(decide(one, factsOf([one, cluster()], unread), RULES, NOON).verdict).toBe(outcome);
  });
});

describe("all objects", () => {
  test("a URL and a text in one object -> both are said; the rest is left out", () => {
    const mirrors = { privateRegistriesConfig: { mirrors: { "docker.io": { endpoint: [FILE] } } } };
    const both = object("RKE2ConfigTemplate.bootstrap.cluster.x-k8s.io/v1beta1", "both", {
      spec: { template: { spec: { ...mirrors, preRKE2Commands: [`curl ${FILE}`] } } },
    });
    const objects = [both, metal3MachineTemplate("none"), bareMetalHost("h", { spec: { image: { url: FILE } } })];
    expect(decideAll(objects, factsOf(objects), RULES, NOON)).toEqual([
      {
        object: keyOf(both),
        decision: {
          verdict: "rewrite",
          because: "matches-rule",
          changes: [
            {
              path: "spec.template.spec.privateRegistriesConfig.mirrors[docker.io].endpoint[0]",
              from: FILE,
              to: `${NEW}/os.qcow2`,
            },
          ],
        },
      },
      {
        object: keyOf(both),
        decision: { verdict: "refuse", because: "inside-text", paths: ["spec.template.spec.preRKE2Commands[0]"] },
      },
    ]);
  });

  test("text in a template that may not change -> one refusal", () => {
    const owned = labelled(withSpec(kubeadmConfigTemplate("t"), text), { [TOPOLOGY_OWNED]: "" });
    const decided = decideAll([owned], factsOf([owned]), RULES, NOON);
    expect(decided.map(({ decision }) => decision.because)).toEqual(["topology-owned"]);
  });

  test("a new URL that another rule would take -> refuse", () => {
    const rules = parseRules(
      "rules:\n  - {from: http://a/, to: http://b/}\n  - {from: http://b/old/, to: http://c/}\n",
      "f",
    );
    const one = withSpec(metal3MachineTemplate("t"), image({ url: "http://a/old/os" }));
    expect(decide(one, factsOf([one]), rules, NOON)).toEqual({
      verdict: "refuse",
      because: "loop",
      paths: [IMAGE_URL],
    });
  });
});
