import { expect, test } from "vitest";
import type { Cluster } from "../../shared/cluster.ts";
import type { GroupKind, KubeObject } from "../../shared/object.ts";
import type { Owner } from "../../shared/owners/owner.ts";
import { openRecords } from "../../shared/owners/records.ts";
import { snapshotCluster } from "../../shared/snapshot/cluster.ts";
import { HOME, metal3MachineTemplate, object } from "../build/objects.ts";
import { grantsIn, rolesIn } from "./grants.ts";
import { manifestsOf } from "./manifests.ts";
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
