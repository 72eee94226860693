import { writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { requestsSince } from "./harness/audit.ts";
import { cluster, clusterNameLabel } from "./harness/capi-objects.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { follow } from "./harness/follow.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3Cluster, metal3Machine, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { eventually, stays } from "./harness/wait.ts";
import { hostKind } from "./scenario/host-claims.ts";
import { bareMetalHost, type Hosts, startHosts } from "./scenario/hosts.ts";
import { type ImageRelease, installImage } from "./scenario/image-chart.ts";
import { type ImageServer, startImageServer } from "./scenario/image-server.ts";
import {
  imageUrlOf,
  jsonMark,
  notesOn,
  ownersOfImageUrl,
  type Rewriter,
  rewriteContested,
  rewrittenFrom,
  startRewriter,
  templateUrl,
} from "./scenario/rewriter.ts";

const infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
const hostedBy = "metal3.io/BareMetalHost";

let controlPlane: ControlPlane;
let old: ImageServer;
let next: ImageServer;
let oldUrl: string;
let newUrl: string;
let hosts: Hosts;

beforeAll(async () => {
  controlPlane = await startManagementCluster({ metal3: "v1beta2", audit: true });
  [old, next] = [await startImageServer(), await startImageServer()];
  oldUrl = `${old.url}/images/node.qcow2`;
  newUrl = `${next.url}/images/node.qcow2`;
  hosts = startHosts(controlPlane.api, infrastructure);
});

async function createNamespace(name: string): Promise<void> {
  await controlPlane.api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** Waits until a release's template holds a URL. */
function untilUrl(release: ImageRelease, url: string): Promise<KubeObject> {
  return eventually(`${url} in ${release.template.namespace}`, async () => {
    const live = await release.live();
    if (imageUrlOf(live) === url) return live;
    throw new Error(`it is ${JSON.stringify(imageUrlOf(live))}`);
  });
}

/** A host with its image, one that cannot fetch its image, and a machine for which no host is free yet. */
async function twoHostsOneFinished(namespace: string) {
  const { api } = controlPlane;
  await createNamespace(namespace);
  const imageOf = (url: string) => ({
    image: { url, checksum: "0".repeat(64), checksumType: "sha256", diskFormat: "qcow2" },
  });
  const machine = async (name: string, url: string): Promise<KubeObject> => {
    const body = metal3Machine(namespace, name, "v1beta2");
    const annotations = { "cluster.x-k8s.io/cloned-from-name": "workers" };
    return api.create({ ...body, metadata: { ...body.metadata, annotations }, spec: imageOf(url) });
  };
  const claimedBy = (one: KubeObject) =>
    eventually(
      `${one.metadata.name} to claim a host`,
      async () => (await api.get(refOf(one)))?.metadata.annotations?.[hostedBy],
    );
  const logged = (outcome: string) =>
    eventually(`a host to have ${outcome}`, () =>
      hosts.log.some((one) => one.namespace === namespace && one.outcome === outcome),
    );

  await api.create(bareMetalHost(namespace, "host-0"));
  const finished = await machine("finished", oldUrl);
  await claimedBy(finished);
  await logged("fetched");
  await api.create(bareMetalHost(namespace, "host-1"));
  // Not there, which a host notices no sooner than it tries.
  const underWay = await machine("under-way", `${old.url}/moved/node.qcow2`);
  await claimedBy(underWay);
  await logged("failed");
  const waiting = await machine("waiting", oldUrl);
  return { finished, underWay, waiting };
}

describe("without the function", () => {
  test("a policy's patch changes the URL of a release of Helm 4 -> its next upgrade fails, the chart being the same", async () => {
    const release = await installImage(controlPlane, 4, "without-owner", oldUrl);
    const patch = { ...release.template, metadata: { name: "workers", namespace: "without-owner" } };
    const { apiVersion, kind, metadata } = patch;
    const spec = { template: { spec: { image: { url: newUrl } } } };
    await controlPlane.api.apply({ apiVersion, kind, metadata, spec }, { fieldManager: "policy" });

    const { code, stderr } = await release.upgrade("0.1.0", oldUrl);
    expect(code).not.toBe(0);
    expect(stderr).toContain("conflict");
  });

  test("story 12: a person patches all hosts to the new address -> the finished one starts again", async () => {
    await twoHostsOneFinished("without-hosts");
    for (const host of await controlPlane.api.list({ ...hostKind, namespace: "without-hosts" })) {
      if (valueAt(host, "spec", "image") !== undefined)
        await controlPlane.api.mergePatch(refOf(host), { spec: { image: { url: newUrl } } });
    }
    await eventually("the finished host to start again", () =>
      hosts.log.some(({ namespace, outcome }) => namespace === "without-hosts" && outcome === "started-again"),
    );
  });
});

describe("with the function", () => {
  let rewriter: Rewriter;
  let rules: { from: string; to: string }[];

  beforeAll(async () => {
    rules = [{ from: `${old.url}/`, to: `${next.url}/` }];
    rewriter = await startRewriter(controlPlane, rules, { metal3: "v1beta2" });
  });

  const untilIdle = async (): Promise<void> => {
    await rewriter.sweep();
    await rewriter.idle();
  };

  test.for([3, 4] as const)(
    "Helm %i upgrades with the same chart, a changed one and a new URL -> each succeeds, the old address is rewritten again, the chart's new one stays",
    async (major) => {
      const namespace = `helm-${major}`;
      const release = await installImage(controlPlane, major, namespace, oldUrl);
      const rewritten = await untilUrl(release, newUrl);
      expect(jsonMark(rewritten, rewrittenFrom)).toEqual({ [templateUrl]: oldUrl });
      await rewriter.idle();
      const owners = ownersOfImageUrl((await release.live()) ?? rewritten);
      expect(owners).toEqual([major === 3 ? "helm Update" : "helm Apply"]);

      const same = await release.upgrade("0.1.0", oldUrl);
      expect(same.code, same.stderr).toBe(0);
      await untilUrl(release, newUrl);
      await rewriter.idle();

      const changed = await release.upgrade("0.2.0", oldUrl);
      expect(changed.code, changed.stderr).toBe(0);
      const after = await untilUrl(release, newUrl);
      expect(after.metadata.labels?.["helm.sh/chart"]).toMatch(/-0\.2\.0$/);
      await rewriter.idle();

      const chosen = "http://172.22.0.9/images/chosen.qcow2";
      const moved = await release.upgrade("0.3.0", chosen);
      expect(moved.code, moved.stderr).toBe(0);
      await untilUrl(release, chosen);
      await untilIdle();
      expect(imageUrlOf(await release.live())).toBe(chosen);

      const back = await release.upgrade("0.4.0", `${old.url}/images/other.qcow2`);
      expect(back.code, back.stderr).toBe(0);
      const again = await untilUrl(release, `${next.url}/images/other.qcow2`);
      expect(jsonMark(again, rewrittenFrom)).toEqual({ [templateUrl]: `${old.url}/images/other.qcow2` });
      expect(jsonMark(again, rewriteContested)?.stoppedAt).toBeUndefined();
    },
  );

  test("its Cluster is paused, as during a move -> the template waits, and is rewritten once the Cluster is unpaused", async () => {
    const { api } = controlPlane;
    const namespace = "paused";
    await createNamespace(namespace);
    const endpoint = { host: "127.0.0.1", port: 6443 };
    const paused = cluster("mgmt", metal3Cluster(namespace, "mgmt", endpoint, "v1beta2"), endpoint);
    const owner = await api.create({ ...paused, spec: { ...paused.spec, paused: true } });
    const body = metal3MachineTemplate({ namespace, name: "workers", version: "v1beta2", imageUrl: oldUrl });
    const labels = { [clusterNameLabel]: "mgmt" };
    const created = await api.create({ ...body, metadata: { ...body.metadata, labels } });
    await eventually("its event", () =>
      rewriter.relay.received.some(({ attributes }) => attributes.namespace === namespace),
    );
    await untilIdle();
    expect((await api.get(refOf(created)))?.metadata.resourceVersion).toBe(created.metadata.resourceVersion);

    await api.mergePatch(refOf(owner), { spec: { paused: false } });
    await eventually("the new address", async () => imageUrlOf(await api.get(refOf(created))) === newUrl);
  });

  test("another writer puts the old URL back each time -> three times rewritten, then it is named and nothing more is written", async () => {
    const { api } = controlPlane;
    const namespace = "contested";
    await createNamespace(namespace);
    const wanted = metal3MachineTemplate({ namespace, name: "workers", version: "v1beta2", imageUrl: oldUrl });
    const started = new Date();
    const applied = () => api.apply(wanted, { fieldManager: "kustomize-controller" });
    const created = await applied();
    const ref = refOf(created);
    let reverts = 0;
    follow(api, { apiVersion: infrastructure, kind: "Metal3MachineTemplate", namespace }, async ({ object }) => {
      // The event may be older than what it already put back.
      if (imageUrlOf(object) === oldUrl || imageUrlOf(await api.get(ref)) === oldUrl) return;
      await applied();
      reverts += 1;
    });

    const contested = await eventually("the mark", async () => {
      const live = await api.get(ref);
      return jsonMark(live, rewriteContested)?.stoppedAt === undefined ? undefined : live;
    });
    await untilIdle();
    await untilIdle();

    expect(imageUrlOf(contested)).toBe(oldUrl);
    expect(jsonMark(contested, rewriteContested)).toMatchObject({ by: "kustomize-controller" });
    expect(jsonMark(contested, rewriteContested)?.reverts).toHaveLength(3);
    expect(reverts).toBe(3);
    const [note, ...more] = await notesOn(api, created, "RewriteContested");
    expect(more).toEqual([]);
    expect(note).toContain("kustomize-controller put the old URL back 3 times");
    expect(note).toContain("kustomize.toolkit.fluxcd.io/ssa: IfNotPresent");
    expect((await api.get(ref))?.metadata.resourceVersion).toBe(contested.metadata.resourceVersion);
    const writes = requestsSince(controlPlane, started).filter(
      ({ verb, objectRef, requestURI, responseStatus }) =>
        responseStatus?.code === 200 &&
        verb === "patch" &&
        objectRef?.namespace === namespace &&
        requestURI.includes("fieldManager=capi-caretaker") &&
        objectRef.resource === "metal3machinetemplates",
    );
    // Each of three rewrites takes two, the second of which gives the field back; then the mark.
    expect(writes).toHaveLength(7);
  });

  test("the new URL is longer than the schema of Metal3 allows -> refused with the server's words, nothing written", async () => {
    const { api } = controlPlane;
    await createNamespace("schema");
    const path = `${"folder/".repeat(60)}node.qcow2`;
    const long = "http://127.0.0.1:9/images/";
    const body = { namespace: "schema", name: "workers", version: "v1beta2", imageUrl: `${long}${path}` } as const;
    rewriter.relay.pause();
    const entry = { from: long, to: `${next.url}/${"f".repeat(100)}/`, check: "none" };
    writeFileSync(rewriter.rulesFile, stringify({ rules: [...rules, entry] }));
    const created = await api.create(metal3MachineTemplate(body));
    rewriter.relay.resume();

    const [note] = await eventually("the refusal", async () => {
      const notes = await notesOn(api, created, "RewriteRefused");
      return notes.length === 0 ? undefined : notes;
    });
    await untilIdle();
    expect(note).toMatch(/^The API server refuses the new URL: .*spec\.template\.spec\.image\.url: Too long/);
    expect((await api.get(refOf(created)))?.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    const lost = rewriter.relay.deliveries.filter(({ outcome }) => outcome === "dead-letter");
    expect(lost).toEqual([]);
  });

  test("a policy of the cluster denies the new URL -> refused with the policy's words, nothing written", async () => {
    const { api } = controlPlane;
    const namespace = "policy";
    const name = "only-known-servers";
    await createNamespace(namespace);
    const rule = {
      apiGroups: ["infrastructure.cluster.x-k8s.io"],
      apiVersions: ["*"],
      operations: ["UPDATE"],
      resources: ["*"],
    };
    const byName = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
    await api.create({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: { ...byName, resourceRules: [rule] },
        validations: [{ expression: "object == oldObject", message: "images come from known servers only" }],
      },
    });
    await api.create({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    });
    const probe = metal3MachineTemplate({ namespace, name: "probe", version: "v1beta2" });
    await api.create(probe);
    await eventually("the policy to be in force", async () => {
      const labels = { at: String(Date.now()) };
      return api.mergePatch(refOf(probe), { metadata: { labels } }).then(
        () => false,
        () => true,
      );
    });
    const body = { namespace, name: "workers", version: "v1beta2", imageUrl: oldUrl } as const;
    const created = await api.create(metal3MachineTemplate(body));

    const [note] = await eventually("the refusal", async () => {
      const notes = await notesOn(api, created, "RewriteRefused");
      return notes.length === 0 ? undefined : notes;
    });
    await untilIdle();
    expect(note).toContain("The API server refuses the new URL");
    expect(note).toContain("images come from known servers only");
    expect((await api.get(refOf(created)))?.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });

  test("story 12: the address changes while half of the hosts are being provisioned -> hosts with an image stay as they are, the waiting machine gets the new one", async () => {
    const { api } = controlPlane;
    const namespace = "hosts";
    rewriter.relay.pause();
    const { finished, underWay, waiting } = await twoHostsOneFinished(namespace);
    const template = await api.create(
      metal3MachineTemplate({ namespace, name: "workers", version: "v1beta2", imageUrl: oldUrl }),
    );
    const before = await api.list({ ...hostKind, namespace });
    rewriter.relay.resume();

    const urlOf = async (one: KubeObject) => valueAt(await api.get(refOf(one)), "spec", "image", "url");
    await eventually("the waiting machine to be rewritten", async () => (await urlOf(waiting)) === newUrl);
    await untilIdle();
    expect(imageUrlOf(await api.get(refOf(template)))).toBe(newUrl);
    expect(await urlOf(finished)).toBe(oldUrl);
    expect(await urlOf(underWay)).toBe(`${old.url}/moved/node.qcow2`);
    expect(await api.list({ ...hostKind, namespace })).toEqual(before);

    await api.create(bareMetalHost(namespace, "host-2"));
    await eventually("the new host to have the new image", () =>
      hosts.log.some((one) => one.host === "host-2" && one.url === newUrl && one.outcome === "fetched"),
    );
    await stays(
      "the finished host's peace",
      () =>
        hosts.log.some((one) => one.namespace === namespace && one.outcome === "started-again")
          ? "it started again"
          : undefined,
      { forMs: 2000 },
    );
    expect(hosts.errors).toEqual([]);
  });
});
