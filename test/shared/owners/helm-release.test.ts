import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type Cluster, ClusterError } from "../../../shared/cluster/cluster.ts";
import { snapshotCluster } from "../../../shared/cluster/snapshot/cluster.ts";
import type { KubeObject } from "../../../shared/objects/object.ts";
import type { Owner } from "../../../shared/owners/owner.ts";
import { openRecords } from "../../../shared/owners/records.ts";
import { HOME, inNamespace, metal3MachineTemplate, object, terminating } from "../../build/objects.ts";

const owner: Owner = { tool: "helm", kind: "Release", namespace: HOME, name: "workers" };
const t = metal3MachineTemplate("t");
const secretValue = "hunter2-in-the-values";

const templateYaml = (extra = "") => `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3MachineTemplate
metadata:
  name: t
${extra}spec: {template: {spec: {}}}
`;
const manifest = `---
# Source: workers/templates/t.yaml
${templateYaml()}---
# empty
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {text: "a: b"}
`;

interface Release {
  readonly status?: string;
  readonly version?: number;
  readonly name?: string;
  readonly namespace?: string;
  readonly manifest?: unknown;
}

const releaseOf = ({ status = "deployed", version = 1, name = "workers", namespace = HOME, ...rest }: Release) => ({
  name,
  namespace,
  version,
  info: { status },
  config: { password: secretValue },
  manifest,
  ...rest,
});
const packed = (json: string) => gzipSync(json).toString("base64");
const twice = (text: string) => Buffer.from(text).toString("base64");

/** The Secret of one revision; `labels` and `data` may differ from what the release itself says. */
function secret(
  release: Release = {},
  changes: { labels?: Record<string, string>; data?: string; type?: string } = {},
) {
  const { name, status = "deployed", version = 1 } = { name: "workers", ...release };
  const { type = "helm.sh/release.v1", data = twice(packed(JSON.stringify(releaseOf(release)))) } = changes;
  const labels = { owner: "helm", name, status, version: String(version), ...changes.labels };
  return object("Secret.v1", `sh.helm.release.v1.${name}.v${version}`, {
    type,
    metadata: { labels },
    data: { release: data },
  });
}

const superseded = secret({ status: "superseded", version: 1, manifest: "" });
const at = (version: number, release: Release = {}) => secret({ version, ...release });
const rawly = (json: string) => secret({}, { data: twice(packed(json)) });
const withManifest = (text: unknown) => secret({ manifest: text });
const bomb = `a: &a [x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: [*d,*d,*d,*d,*d,*d,*d,*d,*d]
`;

const ask = (objects: readonly KubeObject[], template = t) => openRecords(snapshotCluster(objects))(owner, template);

describe("the record of a Helm release", () => {
  test.each<[situation: string, outcome: string, objects: readonly KubeObject[], template?: KubeObject]>([
    ["in the deployed manifest", "true listed", [secret()]],
    ["not in the deployed manifest", "false not-listed", [withManifest("")]],
    ["a namespace of its own in the manifest", "true listed", [withManifest(templateYaml(`  namespace: ${HOME}\n`))]],
    ["the manifest means another namespace", "false not-listed", [withManifest(templateYaml("  namespace: other\n"))]],
    ["another version of the API", "true listed", [withManifest(templateYaml().replace("v1beta1", "v1beta2"))]],
    [
      "another kind of that name",
      "false not-listed",
      [withManifest(templateYaml().replace("Metal3Machine", "Metal3Data"))],
    ],
    [
      "another group of that kind",
      "false not-listed",
      [withManifest(templateYaml().replace("infrastructure", "bootstrap"))],
    ],
    ["inside a List", "true listed", [withManifest(`apiVersion: v1\nkind: List\nitems: [${JSON.stringify(t)}]\n`)]],
    [
      "inside a typed List, whose items leave out their kind",
      "true listed",
      [
        withManifest(
          `apiVersion: ${t.apiVersion}\nkind: Metal3MachineTemplateList\nitems: [{metadata: {name: u}}, {metadata: {name: t}}]\n`,
        ),
      ],
    ],
    [
      "inside a List without its kind",
      "unknown corrupt",
      [withManifest(`apiVersion: v1\nkind: List\nitems: [{metadata: {name: t}}]\n`)],
    ],
    ["a List that holds itself", "unknown corrupt", [withManifest("&l {apiVersion: v1, kind: List, items: [*l]}\n")]],
    ["without the gzip", "true listed", [secret({}, { data: twice(twice(JSON.stringify(releaseOf({})))) })]],
    ["the deployed one is the newest", "true listed", [superseded, at(2)]],
    ["the tenth after the ninth", "true listed", [at(9, { status: "superseded", manifest: "" }), at(10)]],
    [
      "an upgrade is pending",
      "unknown pending-upgrade",
      [secret(), at(2, { status: "pending-upgrade", manifest: "" })],
    ],
    ["a rollback is pending", "unknown pending-rollback", [secret(), at(2, { status: "pending-rollback" })]],
    ["an installation is pending", "unknown pending-install", [secret({ status: "pending-install" })]],
    ["the last upgrade failed", "unknown failed", [secret(), at(2, { status: "failed", manifest: "" })]],
    ["all superseded", "unknown superseded", [superseded]],
    ["being uninstalled", "unknown uninstalling", [secret({ status: "uninstalling" })]],
    ["uninstalled, history kept", "unknown uninstalled", [secret({ status: "uninstalled" })]],
    ["a status that Helm does not know, and not repeated", "unknown corrupt", [secret({ status: "hunter2" })]],
    ["a status unknown to Helm itself", "unknown unknown", [secret({ status: "unknown" })]],
    ["no status label", "unknown corrupt", [secret({}, { labels: { status: "" } })]],
    ["its newest revision is being deleted", "unknown terminating", [superseded, terminating(at(2))]],
    ["no such release, or another storage driver", "unknown no-record", []],
    ["a release of that name elsewhere", "unknown no-record", [inNamespace(secret(), "other")]],
    ["another release in the namespace", "unknown no-record", [secret({ name: "else" })]],
    ["a Secret of somebody else with such labels", "unknown corrupt", [secret({}, { type: "Opaque" })]],
    ["no version label", "unknown corrupt", [secret({}, { labels: { version: "" } })]],
    [
      "the label says deployed, the release does not",
      "unknown corrupt",
      [secret({ status: "failed" }, { labels: { status: "deployed" } })],
    ],
    [
      "the Secret holds another release",
      "unknown corrupt",
      [secret({}, { data: twice(packed(JSON.stringify(releaseOf({ name: "else" })))) })],
    ],
    [
      "the Secret holds another revision",
      "unknown corrupt",
      [secret({}, { data: twice(packed(JSON.stringify(releaseOf({ version: 7 })))) })],
    ],
    ["no base64", "unknown corrupt", [secret({}, { data: "%%%" })]],
    ["no base64 inside", "unknown corrupt", [secret({}, { data: twice("%%%") })]],
    [
      "a gzip that is cut off",
      "unknown corrupt",
      [secret({}, { data: twice(packed(JSON.stringify(releaseOf({}))).slice(0, 60)) })],
    ],
    [
      "a gzip bomb",
      "unknown corrupt",
      [secret({}, { data: twice(gzipSync(Buffer.alloc(33 * 1024 * 1024)).toString("base64")) })],
    ],
    ["no JSON", "unknown corrupt", [rawly(`{"password": "${secretValue}"`)]],
    ["JSON without a manifest", "unknown corrupt", [rawly("{}")]],
    ["a manifest that is no text", "unknown corrupt", [withManifest([templateYaml()])]],
    ["a manifest that is no YAML", "unknown corrupt", [withManifest(`a: [${secretValue}`)]],
    ["a document that is no object", "unknown corrupt", [withManifest(`${manifest}---\njust text\n`)]],
    ["an object without a name", "unknown corrupt", [withManifest("apiVersion: v1\nkind: ConfigMap\n")]],
    ["an alias bomb", "unknown corrupt", [withManifest(bomb)]],
    [
      "three dashes inside a text",
      "true listed",
      [
        withManifest(
          `${templateYaml()}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  text: |\n    ---\n    more\n`,
        ),
      ],
    ],
    [
      "huge: ten thousand objects",
      "true listed",
      [withManifest(`${manifest}${"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n".repeat(10_000)}`)],
    ],
  ])("%s -> %s", async (_, outcome, objects, template) => {
    const { lists, reason } = await ask(objects, template);
    expect(`${lists} ${reason}`).toBe(outcome);
  });

  test.each(["forbidden", "unavailable"] as const)("Secrets are %s -> unknown", async (failure) => {
    const cluster: Cluster = {
      ...snapshotCluster([secret()]),
      list: async () => {
        throw new ClusterError(failure, `no: ${secretValue}`);
      },
    };
    expect(await openRecords(cluster)(owner, t)).toEqual({ lists: "unknown", reason: failure });
  });

  test.each<[situation: string, name: string, reason: string]>([
    ["a comma in its name, so that the selector means another", "workers,version=1", "no-record"],
    ["no name for a label", "a!=b", "invalid"],
  ])("%s -> unknown", async (_, name, reason) => {
    const answer = await openRecords(snapshotCluster([secret()]))({ ...owner, name }, t);
    expect(answer).toEqual({ lists: "unknown", reason });
  });

  test.each<[situation: string, outcome: string, answer: Cluster["get"]]>([
    [
      "the Secret itself is forbidden",
      "unknown forbidden",
      async () => {
        throw new ClusterError("forbidden", secretValue);
      },
    ],
    ["the Secret is gone since it was listed", "unknown unsettled", async () => undefined],
  ])("%s -> %s", async (_, outcome, get) => {
    const { lists, reason } = await openRecords({ ...snapshotCluster([secret()]), get })(owner, t);
    expect(`${lists} ${reason}`).toBe(outcome);
  });

  test("many templates of one release -> its Secrets are read once", async () => {
    let reads = 0;
    const snapshot = snapshotCluster([secret()]);
    const counting: Cluster = {
      ...snapshot,
      get(key) {
        reads += 1;
        return snapshot.get(key);
      },
    };
    const records = openRecords(counting);
    await Promise.all(["t", "u", "v"].map((name) => records(owner, metal3MachineTemplate(name))));
    expect(reads).toBe(1);
  });
});
