import { describe, expect, test } from "vitest";
import { findIn } from "../../functions/rewrite-urls/findings.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import {
  inNamespace,
  kubeadmConfigTemplate,
  metal3Machine,
  metal3MachineTemplate,
  rke2ConfigTemplate,
  VERSIONS,
} from "../build/objects.ts";
import { image, NEW, OLD, RULES, rulesOf, withSpec } from "./world.ts";

const below = (spec: Readonly<Record<string, unknown>>) => ({ template: { spec } });
const FILE = `${OLD}/os.qcow2`;

describe.each(VERSIONS)("where URLs live, %s", (version) => {
  const machineTemplate = (fields: Readonly<Record<string, unknown>>) =>
    withSpec(metal3MachineTemplate("t", { version }), image(fields));
  const kubeadm = (spec: Readonly<Record<string, unknown>>) =>
    withSpec(kubeadmConfigTemplate("t", { version }), below(spec));
  const rke2 = (spec: Readonly<Record<string, unknown>>) => withSpec(rke2ConfigTemplate("t", { version }), below(spec));

  // situation, object, changed paths, mentioned paths
  const rows: readonly (readonly [string, KubeObject, readonly string[], readonly string[]])[] = [
    ["a machine template's image", machineTemplate({ url: FILE }), ["spec.template.spec.image.url"], []],
    [
      "image and checksum",
      machineTemplate({ url: FILE, checksum: `${FILE}.sha256`, checksumType: "sha256" }),
      ["spec.template.spec.image.url", "spec.template.spec.image.checksum"],
      [],
    ],
    [
      "a checksum alone",
      machineTemplate({ url: "http://other/os", checksum: FILE }),
      ["spec.template.spec.image.checksum"],
      [],
    ],
    ["a plain hash", machineTemplate({ url: FILE, checksum: "0".repeat(64) }), ["spec.template.spec.image.url"], []],
    [
      "a live ISO",
      machineTemplate({ url: `${OLD}/l.iso`, format: "live-iso", diskFormat: "live-iso" }),
      ["spec.template.spec.image.url"],
      [],
    ],
    ["an OCI image", machineTemplate({ url: "oci://10.10.10.17/os:v1" }), [], []],
    [
      "another field of a machine template",
      withSpec(metal3MachineTemplate("t"), below({ userData: { name: FILE } })),
      [],
      [],
    ],
    [
      "a machine's image and checksum",
      withSpec(metal3Machine("m", { version }), { image: { url: FILE, checksum: FILE } }),
      ["spec.image.url", "spec.image.checksum"],
      [],
    ],
    [
      "registry mirrors of RKE2",
      rke2({ privateRegistriesConfig: { mirrors: { "docker.io": { endpoint: ["http://other/", `${OLD}/v2`] } } } }),
      ["spec.template.spec.privateRegistriesConfig.mirrors[docker.io].endpoint[1]"],
      [],
    ],
    [
      "a host name for a key",
      rke2({ privateRegistriesConfig: { configs: { "10.10.10.17": { insecure: true } } } }),
      [],
      ["spec.template.spec.privateRegistriesConfig.configs[10.10.10.17]"],
    ],
    [
      "etcd endpoints of kubeadm",
      kubeadm({ clusterConfiguration: { etcd: { external: { endpoints: [`${OLD}/etcd`] } } } }),
      ["spec.template.spec.clusterConfiguration.etcd.external.endpoints[0]"],
      [],
    ],
    [
      "a file's content",
      kubeadm({ files: [{ path: "/x", content: `curl ${FILE} -o x` }] }),
      [],
      ["spec.template.spec.files[0].content"],
    ],
    [
      "a file that is one URL",
      kubeadm({ files: [{ path: "/x", content: FILE }] }),
      [],
      ["spec.template.spec.files[0].content"],
    ],
    [
      "a file's content in base64",
      rke2({ files: [{ path: "/x", encoding: "base64", content: Buffer.from(`get ${FILE}`).toString("base64") }] }),
      [],
      ["spec.template.spec.files[0].content"],
    ],
    [
      "a command of kubeadm",
      kubeadm({ preKubeadmCommands: ["true", `wget ${FILE}`] }),
      [],
      ["spec.template.spec.preKubeadmCommands[1]"],
    ],
    ["a command of RKE2", rke2({ postRKE2Commands: [`wget ${FILE}`] }), [], ["spec.template.spec.postRKE2Commands[0]"]],
    [
      "a host name in a command",
      rke2({ preRKE2Commands: ["ping 10.10.10.17 -c1"] }),
      [],
      ["spec.template.spec.preRKE2Commands[0]"],
    ],
    [
      "a longer host name in a command",
      rke2({ preRKE2Commands: ["ping 10.10.10.170 110.10.10.17 10.10.10.17.x"] }),
      [],
      [],
    ],
    [
      "a host name at the end of a sentence",
      kubeadm({ files: [{ content: "# from 10.10.10.17." }] }),
      [],
      ["spec.template.spec.files[0].content"],
    ],
    [
      "a bare host name in a field",
      rke2({ agentConfig: { ntp: { servers: ["10.10.10.17"] } } }),
      [],
      ["spec.template.spec.agentConfig.ntp.servers[0]"],
    ],
    ["a URL of another port", rke2({ agentConfig: { additionalUserData: { data: { a: `${OLD}:81/x` } } } }), [], []],
    ["nothing of the kind", kubeadm({ verbosity: 3, files: [{ path: "/x", content: "hello" }] }), [], []],
  ];
  test.each(rows)("%s -> changes and mentions", (_situation, object, changed, mentioned) => {
    const found = findIn(object, RULES);
    expect(found.changes.map(({ path }) => path)).toEqual(changed);
    expect(found.mentions).toEqual(mentioned);
  });
});

describe("what a change says", () => {
  const template = withSpec(metal3MachineTemplate("t"), image({ url: `${FILE}?v=1` }));
  const path = "spec.template.spec.image.url";

  test("a rule that takes it -> path, from and to", () => {
    expect(findIn(template, RULES).changes).toEqual([{ path, from: `${FILE}?v=1`, to: `${NEW}/os.qcow2?v=1` }]);
  });

  test.each([
    ["its own namespace", ["sylva"], 1],
    ["another namespace", ["default"], 0],
  ])("a rule of %s -> %s: %i changes", (_situation, namespaces, count) => {
    expect(findIn(template, rulesOf({ namespaces })).changes).toHaveLength(count);
  });

  test("a rule of the namespace it was moved to -> changes", () => {
    expect(findIn(inNamespace(template, "default"), rulesOf({ namespaces: ["default"] })).changes).toHaveLength(1);
  });
});

describe("host names in texts", () => {
  const script = (text: string) => withSpec(kubeadmConfigTemplate("t"), below({ preKubeadmCommands: [text] }));
  // A rule that stays on its host leaves no host behind, and a name without dots is an everyday word.
  test.each([
    ["the host stays, another folder", "curl http://files/new/x", "http://files/old/", "http://files/other/", 0],
    ["the host stays, the old folder", "curl http://files/old/x", "http://files/old/", "http://files/other/", 1],
    ["a plain word", "cp files /tmp", "http://files/", "http://new/", 0],
    ["a plain word in a URL of another scheme", "rsync rsync://files:873/x .", "http://files/", "http://new/", 1],
    ["an IPv6 host", "ping [fd00::17]", "http://[fd00::17]/", "http://new/", 1],
  ])("%s -> %s", (_situation, text, from, to, count) => {
    expect(findIn(script(text), rulesOf({}, from, to)).mentions).toHaveLength(count);
  });
});
