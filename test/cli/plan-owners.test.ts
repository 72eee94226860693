import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { plan } from "../../cli/plan/run.ts";
import type { KubeObject } from "../../shared/object.ts";
import { annotated, cluster, HOME, held, labelled, metal3MachineTemplate, object, ownedBy } from "../build/objects.ts";
import { folderOf } from "./run.ts";

const mgmt = cluster();
const byHelm = (one: KubeObject) => {
  const release = { "meta.helm.sh/release-name": "workers", "meta.helm.sh/release-namespace": HOME };
  return labelled(annotated(one, release), { "app.kubernetes.io/managed-by": "Helm" });
};
const t = byHelm(ownedBy(metal3MachineTemplate("t"), mgmt));

function secret(manifest: string): KubeObject {
  const labels = { owner: "helm", name: "workers", status: "deployed", version: "1" };
  const config = { password: "hunter2" };
  const release = { name: "workers", namespace: HOME, version: 1, info: { status: "deployed" }, config, manifest };
  const data = Buffer.from(gzipSync(JSON.stringify(release)).toString("base64")).toString("base64");
  return object("Secret.v1", "sh.helm.release.v1.workers.v1", {
    metadata: { labels },
    type: "helm.sh/release.v1",
    data: { release: data },
  });
}
const listing = secret(JSON.stringify({ apiVersion: t.apiVersion, kind: t.kind, metadata: { name: "t" } }));

async function planned(objects: readonly KubeObject[], json: boolean, environment: Record<string, string> = {}) {
  const folder = await folderOf({ "all.json": { apiVersion: "v1", kind: "List", items: [mgmt, ...objects] } });
  const args = ["--snapshot", folder, "--now", "2026-09-01T12:00:00Z", ...(json ? ["--json"] : [])];
  return plan(args, environment);
}

test.each([
  ["its release lists it", [t, listing], true, "Helm release sylva/workers lists it"],
  ["its release does not", [t, secret("")], false, "Helm release sylva/workers does not list it any more"],
  ["a dump without Secrets", [t], "unknown", "whether Helm release sylva/workers lists it is unknown: no-record"],
])("%s -> the owner, its word, and a phrase for people", async (_, objects, lists, phrase) => {
  const [decision] = JSON.parse(await planned(objects, true)).decisions;
  expect(decision).toMatchObject({ concern: "retain-templates", verdict: "hold" });
  expect(decision.owner).toEqual({ tool: "helm", namespace: HOME, name: "workers", lists });
  const text = await planned(objects, false);
  expect(text).toContain(phrase);
  expect(text).not.toContain("hunter2");
});

test("nobody owns it -> no owner", async () => {
  const [decision] = JSON.parse(await planned([ownedBy(metal3MachineTemplate("t"), mgmt)], true)).decisions;
  expect("owner" in decision).toBe(false);
});

test("RETIRE_ORPHANS set, no longer listed -> the retirement is shown to people", async () => {
  const objects = [held(t), secret("")];
  expect(await planned(objects, false, { RETIRE_ORPHANS: "helm" })).toContain(
    "retire  Metal3MachineTemplate sylva/t: its owner no longer lists it, so it is retired",
  );
  expect(await planned(objects, false)).not.toContain("retire ");
});
