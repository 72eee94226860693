import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { plan } from "../../cli/plan/run.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import {
  annotated,
  cluster,
  HOME,
  held,
  labelled,
  metal3MachineTemplate,
  object,
  ownedBy,
  retired,
} from "../build/objects.ts";
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
  ["its release does not", [t, secret("")], false, "Helm release sylva/workers no longer lists it"],
  ["a dump without Secrets", [t], "unknown", "whether Helm release sylva/workers lists it is unknown (no-record)"],
])("%s -> the owner, its word, and a phrase for people", async (_, objects, lists, phrase) => {
  const [decision] = JSON.parse(await planned(objects, true)).decisions;
  expect(decision).toMatchObject({ concern: "retain-templates", verdict: "hold" });
  expect(decision.owner).toEqual({ tool: "helm", namespace: HOME, name: "workers", lists });
  const text = await planned(objects, false);
  expect(text).toContain(phrase);
  expect(text).not.toContain("hunter2");
});

const bare = ownedBy(metal3MachineTemplate("t"), mgmt);
const flux = (kind: "helm" | "kustomize", one: KubeObject) =>
  labelled(one, { [`${kind}.toolkit.fluxcd.io/name`]: "workers", [`${kind}.toolkit.fluxcd.io/namespace`]: HOME });
const tracked = (instance: string) =>
  annotated(bare, {
    "argocd.argoproj.io/tracking-id": `${instance}:infrastructure.cluster.x-k8s.io/Metal3MachineTemplate:${HOME}/t`,
  });
const inventory = {
  status: {
    conditions: [{ type: "Ready", status: "True" }],
    inventory: { entries: [{ id: `${HOME}_t_infrastructure.cluster.x-k8s.io_Metal3MachineTemplate`, v: "v1beta1" }] },
  },
};
const kustomization = object("Kustomization.kustomize.toolkit.fluxcd.io/v1", "workers", inventory);

test.each([
  ["a HelmRelease, not in the dump", [flux("helm", t)], { tool: "flux", namespace: HOME }, "HelmRelease sylva/workers"],
  ["a Kustomization", [flux("kustomize", bare), kustomization], { tool: "flux", namespace: HOME, lists: true }, ""],
  ["an Application of another namespace", [tracked("team-a_workers")], { tool: "argocd", namespace: "team-a" }, ""],
  ["one of Argo CD's own namespace", [tracked("workers")], { tool: "argocd" }, "whether Application workers lists it"],
] as const)("%s owns it -> it is named, with a namespace where one is known", async (_, objects, owner, phrase) => {
  const { decisions } = JSON.parse(await planned(objects, true));
  expect(decisions.map((one: { owner: unknown }) => one.owner)).toEqual([
    { name: "workers", lists: "unknown", ...owner },
  ]);
  expect(await planned(objects, false)).toContain(phrase);
});

test("an owner's name that is none and breaks the line -> the plan keeps a line for each decision", async () => {
  const odd = annotated(t, { "meta.helm.sh/release-name": "workers\n  collect Cluster sylva/mgmt" });
  const text = await planned([odd], false);
  expect(text).not.toMatch(/^ *collect/m);
  expect(text).toContain('Helm release "sylva/workers\\n  collect Cluster sylva/mgmt" lists it is unknown');
});

test.each([
  ["nobody owns it", [bare]],
  ["several own it", [flux("kustomize", t), listing, kustomization]],
])("%s -> no owner", async (_, objects) => {
  const [decision] = JSON.parse(await planned(objects, true)).decisions;
  expect("owner" in decision).toBe(false);
  expect(await planned(objects, false)).not.toContain("lists it");
});

test.each([
  ["its release does not list", [held(retired(t)), secret("")]],
  ["nobody owns, beside a release", [held(retired(bare)), listing]],
])("a template that %s -> nothing of a Secret is shown, to people or machines", async (_, objects) => {
  for (const json of [true, false]) {
    const shown = await planned(objects, json);
    expect(shown).toContain("collect-templates");
    expect(shown).not.toMatch(/hunter2|sh\.helm\.release|password/);
  }
});

test("one owner of many templates -> every decision about them names it", async () => {
  const going = byHelm(held(retired(ownedBy(metal3MachineTemplate("u"), mgmt))));
  const { decisions } = JSON.parse(await planned([t, going, listing], true));
  const said = decisions.map((one: { concern: string; object: { name: string }; owner: { lists: unknown } }) => {
    return [one.object.name, one.concern, one.owner.lists];
  });
  expect(said).toEqual([
    ["t", "retain-templates", true],
    ["u", "collect-templates", false],
  ]);
});

test("RETIRE_ORPHANS set, no longer listed -> the retirement is shown to people", async () => {
  const objects = [held(t), secret("")];
  expect(await planned(objects, false, { RETIRE_ORPHANS: "helm" })).toContain(
    "retire  Metal3MachineTemplate sylva/t: its owner no longer lists it, so it is retired",
  );
  expect(await planned(objects, false)).not.toContain("retire ");
});
