import { expect, test } from "vitest";
import { type Cluster, ClusterError } from "../../../shared/cluster/cluster.ts";
import { snapshotCluster } from "../../../shared/cluster/snapshot/cluster.ts";
import type { KubeObject } from "../../../shared/objects/object.ts";
import { openRecords } from "../../../shared/owners/records.ts";
import {
  cluster,
  HOME,
  inNamespace,
  metal3MachineTemplate,
  object,
  ownedBy,
  terminating,
} from "../../build/objects.ts";

const t = metal3MachineTemplate("t");
const owned = ownedBy(t, cluster());
const ENTRY = { group: "infrastructure.cluster.x-k8s.io", kind: "Metal3MachineTemplate", namespace: HOME, name: "t" };
const OTHER = { kind: "ConfigMap", namespace: HOME, name: "other", version: "v1" };

const settled = (changes: object = {}) => ({
  sync: { status: "Synced" },
  operationState: { phase: "Succeeded" },
  resources: [OTHER, ENTRY],
  ...changes,
});
const HERE = { server: "https://kubernetes.default.svc" };
const app = (status: unknown, more: object = {}) =>
  inNamespace(
    object("Application.argoproj.io/v1alpha1", "workers", { spec: { destination: HERE }, status, ...more }),
    "argocd",
  );
const bound = (destination: object) => [app(settled(), { spec: { destination } })];
const without = app(settled({ resources: [OTHER] }));

test.each<[situation: string, outcome: string, apps: readonly KubeObject[], template?: KubeObject, namespace?: string]>(
  [
    ["among its resources", "true listed", [app(settled())]],
    ["among its resources, by namespace", "true listed", [app(settled())], t, "argocd"],
    ["to be pruned", "false not-listed", [app(settled({ resources: [{ ...ENTRY, requiresPruning: true }] }))]],
    ["not among them, and owned", "false not-listed", [without], owned],
    ["not among them, and not owned", "unknown not-among-resources", [without]],
    [
      "another namespace in the entry",
      "unknown not-among-resources",
      [app(settled({ resources: [{ ...ENTRY, namespace: "b" }] }))],
    ],
    ["no resources", "unknown no-resources", [app(settled({ resources: [] }))], owned],
    ["no such Application", "unknown no-record", []],
    ["no such Application in that namespace", "unknown no-record", [app(settled())], t, "other"],
    ["two of that name", "unknown several-of-that-name", [app(settled()), inNamespace(app(settled()), "b")]],
    ["two of that name, the namespace told", "true listed", [app(settled()), inNamespace(app({}), "b")], t, "argocd"],
    ["the one of that name is Argo CD's own", "true listed", [app(settled({ controllerNamespace: "argocd" }))]],
    [
      "the one of that name is not in Argo CD's own namespace, so another is meant",
      "unknown in-another-namespace",
      [inNamespace(app(settled({ controllerNamespace: "argocd", resources: [OTHER] })), "team-b")],
      owned,
    ],
    [
      "not in Argo CD's own namespace, and told so",
      "true listed",
      [inNamespace(app(settled({ controllerNamespace: "argocd" })), "team-b")],
      t,
      "team-b",
    ],
    [
      "two entries for it, one to be pruned",
      "true listed",
      [app(settled({ resources: [{ ...ENTRY, version: "v1beta1", requiresPruning: true }, ENTRY] }))],
    ],
    ["out of sync", "unknown not-synced", [app(settled({ sync: { status: "OutOfSync" } }))]],
    ["a sync is running", "unknown operation-running", [app(settled({ operationState: { phase: "Running" } }))]],
    ["the last sync failed", "unknown operation-failed", [app(settled({ operationState: { phase: "Failed" } }))]],
    [
      "the last sync ended with an error",
      "unknown operation-error",
      [app(settled({ operationState: { phase: "Error" } }))],
    ],
    [
      "a sync is being stopped",
      "unknown operation-terminating",
      [app(settled({ operationState: { phase: "Terminating" } }))],
    ],
    [
      "a phase that is none, and not repeated",
      "unknown unsettled",
      [app(settled({ operationState: { phase: "hunter2" } }))],
    ],
    ["a sync is asked for", "unknown operation-requested", [app(settled(), { operation: { sync: {} } })]],
    ["never synced by an operation", "true listed", [app(settled({ operationState: undefined }))]],
    [
      "its source cannot be read",
      "unknown error-condition",
      [app(settled({ conditions: [{ type: "ComparisonError" }] }))],
    ],
    ["a warning", "true listed", [app(settled({ conditions: [{ type: "OrphanedResourceWarning" }] }))]],
    ["for this cluster by its name", "true listed", bound({ name: "in-cluster" })],
    ["for the server of another cluster", "unknown for-another-cluster", bound({ server: "https://10.0.0.1:6443" })],
    ["for another cluster by its name", "unknown for-another-cluster", bound({ name: "edge" })],
    [
      "for another server, with this cluster's name",
      "unknown for-another-cluster",
      bound({ server: "https://10.0.0.1:6443", name: "in-cluster" }),
    ],
    ["no destination", "unknown unsettled", [app(settled(), { spec: {} })]],
    ["an empty destination", "unknown for-another-cluster", bound({})],
    ["being deleted", "unknown terminating", [terminating(app(settled()))]],
    ["no status yet", "unknown unsettled", [app(undefined)]],
    ["a status of another shape", "unknown unsettled", [app(settled({ resources: "none" }))]],
  ],
)("%s -> %s", async (_, outcome, apps, template = t, namespace) => {
  const owner = { tool: "argocd", kind: "Application", namespace, name: "workers" } as const;
  const { lists, reason } = await openRecords(snapshotCluster(apps))(owner, template);
  expect(`${lists} ${reason}`).toBe(outcome);
});

test.each([undefined, "argocd"])("Applications are forbidden, namespace %o -> unknown", async (namespace) => {
  const refuse = async () => {
    throw new ClusterError("forbidden", "no");
  };
  const refusing: Cluster = { ...snapshotCluster([app(settled())]), get: refuse, list: refuse };
  const owner = { tool: "argocd", kind: "Application", namespace, name: "workers" } as const;
  expect(await openRecords(refusing)(owner, t)).toEqual({ lists: "unknown", reason: "forbidden" });
});
