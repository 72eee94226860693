import { expect, test } from "vitest";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { snapshotCluster } from "../../shared/cluster/snapshot/cluster.ts";
import type { GroupKind, KubeObject } from "../../shared/objects/object.ts";
import type { Owner } from "../../shared/owners/owner.ts";
import { openRecords } from "../../shared/owners/records.ts";
import { HOME, metal3MachineTemplate, object } from "../build/objects.ts";
import { grantsIn, grantsOf, rolesIn } from "./grants.ts";
import { manifestsOf } from "./manifests.ts";
import { FUNCTIONS } from "./needs.ts";
import { pluralOf } from "./providers.ts";

const t = metal3MachineTemplate("t");
const labels = { owner: "helm", name: "workers", status: "deployed", version: "1" };
const secret = object("Secret.v1", "sh.helm.release.v1.workers.v1", { metadata: { labels } });
const owner = (kind: Owner["kind"], namespace: string | undefined = HOME): Owner => {
  const tool = kind === "Release" ? "helm" : kind === "Application" ? "argocd" : "flux";
  return { tool, kind, namespace, name: "workers" };
};

/** What asking these owners' records asks of the API server, as a role says it. */
async function asked(owners: readonly Owner[], objects: readonly KubeObject[] = []): Promise<string[]> {
  const used = new Set<string>();
  const note = (verb: string, kind: GroupKind) => used.add(`${verb} ${kind.group}/${pluralOf(kind)}`);
  const snapshot = snapshotCluster(objects);
  const noting: Cluster = {
    ...snapshot,
    get(key) {
      note("get", key);
      return snapshot.get(key);
    },
    list(kind, options) {
      note("list", kind);
      return snapshot.list(kind, options);
    },
  };
  for (const one of owners) await openRecords(noting)(one, t);
  return [...used].toSorted();
}

const granted = (option: string) =>
  rolesIn(manifestsOf(`options/${option}`)).map((role) => [grantsIn(role).toSorted(), role.metadata.labels] as const);
const AGGREGATED = "capi-caretaker.io/aggregate-to-collect-templates";

test.each([
  ["records-flux", [owner("HelmRelease"), owner("Kustomization")]],
  ["records-argocd", [owner("Application"), { ...owner("Application"), namespace: undefined }]],
])("%s -> collect-templates may read what the record needs, and nothing else", async (option, owners) => {
  const [[grants, roleLabels] = [[], {}], ...others] = granted(option);
  expect([grants, others]).toEqual([await asked(owners), []]);
  expect(roleLabels[AGGREGATED]).toBe("true");
});

test("records-helm -> the same, and nobody is bound to it: Secrets are opened by a person, a namespace at a time", async () => {
  const [[grants, roleLabels] = [[], {}], ...others] = granted("records-helm");
  expect([grants, others]).toEqual([await asked([owner("Release")], [secret]), []]);
  expect(roleLabels[AGGREGATED]).toBeUndefined();
  expect(manifestsOf("options/records-helm")).toHaveLength(1);
});

/** What each function may do beyond the overlay minimal. */
const addedBy = (...folders: readonly string[]) =>
  FUNCTIONS.map((name) => {
    const before = grantsOf(name, manifestsOf("overlays/minimal"));
    return [name, grantsOf(name, manifestsOf(...folders)).filter((grant) => !before.includes(grant))] as const;
  }).filter(([, grants]) => grants.length > 0);

test("keep-charts -> collect-templates alone may read a release, in the namespace that is bound and in no other", async () => {
  const needs = await asked([owner("Release")], [secret]);
  expect(addedBy("overlays/keep-charts")).toEqual([
    ["collect-templates", needs.map((grant) => `${grant} in own namespace`)],
  ]);
  const bound = manifestsOf("overlays/keep-charts").filter((one) => JSON.stringify(one).includes("records:helm"));
  expect(bound.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([
    ["RoleBinding", "team-a"],
    ["ClusterRole", undefined],
  ]);
});

test("keep-charts with the other tools' options -> their rights come to it, and nobody else gets any", async () => {
  const others = [owner("HelmRelease"), owner("Kustomization"), { ...owner("Application"), namespace: undefined }];
  const helm = (await asked([owner("Release")], [secret])).map((grant) => `${grant} in own namespace`);
  const needs = [...helm, ...(await asked([...others, owner("Application")]))].toSorted();
  expect(addedBy("overlays/keep-charts", "options/records-flux", "options/records-argocd")).toEqual([
    ["collect-templates", needs],
  ]);
});
