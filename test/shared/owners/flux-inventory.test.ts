import { expect, test } from "vitest";
import { type Cluster, ClusterError } from "../../../shared/cluster/cluster.ts";
import { snapshotCluster } from "../../../shared/cluster/snapshot/cluster.ts";
import type { KubeObject } from "../../../shared/objects/object.ts";
import type { Owner } from "../../../shared/owners/owner.ts";
import { openRecords } from "../../../shared/owners/records.ts";
import { HOME, metal3MachineTemplate, object, terminating } from "../../build/objects.ts";

const t = metal3MachineTemplate("t");
const ID = `${HOME}_t_infrastructure.cluster.x-k8s.io_Metal3MachineTemplate`;
const TYPES = {
  HelmRelease: "HelmRelease.helm.toolkit.fluxcd.io/v2",
  Kustomization: "Kustomization.kustomize.toolkit.fluxcd.io/v1",
} as const;
const KINDS = ["HelmRelease", "Kustomization"] as const;

const READY = { type: "Ready", status: "True", observedGeneration: 3 };
const listing = (...ids: string[]) => ({ entries: ids.map((id) => ({ id, v: "v1beta1" })) });
const settled = (changes: object = {}) => ({
  observedGeneration: 3,
  conditions: [READY],
  inventory: listing(ID),
  ...changes,
});
const made = (kind: keyof typeof TYPES, status: unknown, spec: object = {}) =>
  object(TYPES[kind], "workers", { metadata: { generation: 3 }, spec, status });

type Make = (kind: keyof typeof TYPES) => readonly KubeObject[];
const rows: readonly [situation: string, outcome: string, make: Make][] = [
  ["in the inventory", "true listed", (kind) => [made(kind, settled())]],
  ["not in the inventory", "false not-listed", (kind) => [made(kind, settled({ inventory: listing("x_y_z_K") }))]],
  ["an empty inventory", "false not-listed", (kind) => [made(kind, settled({ inventory: { entries: [] } }))]],
  ["no entries", "false not-listed", (kind) => [made(kind, settled({ inventory: {} }))]],
  [
    "another namespace in the id",
    "false not-listed",
    (kind) => [made(kind, settled({ inventory: listing(ID.replace(HOME, "b")) }))],
  ],
  [
    "no inventory: an older controller",
    "unknown no-inventory",
    (kind) => [made(kind, settled({ inventory: undefined }))],
  ],
  ["no such owner", "unknown no-record", () => []],
  ["no status", "unknown not-ready", (kind) => [made(kind, undefined)]],
  ["failed", "unknown not-ready", (kind) => [made(kind, settled({ conditions: [{ ...READY, status: "False" }] }))]],
  [
    "in progress",
    "unknown not-ready",
    (kind) => [made(kind, settled({ conditions: [{ ...READY, status: "Unknown" }] }))],
  ],
  [
    "Ready and reconciling anew",
    "unknown reconciling",
    (kind) => [made(kind, settled({ conditions: [READY, { type: "Reconciling", status: "True" }] }))],
  ],
  ["seen an older generation", "unknown stale-generation", (kind) => [made(kind, settled({ observedGeneration: 2 }))]],
  [
    "Ready for an older generation",
    "unknown stale-generation",
    (kind) => [made(kind, settled({ conditions: [{ ...READY, observedGeneration: 2 }] }))],
  ],
  ["suspended", "unknown suspended", (kind) => [made(kind, settled(), { suspend: true })]],
  [
    "for the cluster of a kubeconfig",
    "unknown for-another-cluster",
    (kind) => [made(kind, settled(), { kubeConfig: { secretRef: { name: "there" } } })],
  ],
  ["being deleted", "unknown terminating", (kind) => [terminating(made(kind, settled()))]],
  [
    "an entry that is no id",
    "unknown corrupt",
    (kind) => [made(kind, settled({ inventory: { entries: [{ id: 7 }] } }))],
  ],
  ["an id of too few parts", "unknown corrupt", (kind) => [made(kind, settled({ inventory: listing("x_y_K", ID) }))]],
  ["an id of too many parts", "unknown corrupt", (kind) => [made(kind, settled({ inventory: listing("a_b_c_d_K") }))]],
  ["an empty id", "unknown corrupt", (kind) => [made(kind, settled({ inventory: listing("") }))]],
  [
    "beside a ConfigMap, a Namespace and a ClusterRole with colons",
    "true listed",
    (kind) => [
      made(
        kind,
        settled({
          inventory: listing(
            `${HOME}_c__ConfigMap`,
            `_${HOME}__Namespace`,
            "_system__a__b_rbac.authorization.k8s.io_ClusterRole",
            ID,
          ),
        }),
      ),
    ],
  ],
  ["a status that is text", "unknown corrupt", (kind) => [made(kind, "ready")]],
];

test.each(KINDS.flatMap((kind) => (["forbidden", "unavailable"] as const).map((failure) => [kind, failure] as const)))(
  "%s: reading it is %s -> unknown",
  async (kind, failure) => {
    const cluster: Cluster = {
      ...snapshotCluster([]),
      get: async () => {
        throw new ClusterError(failure, "no");
      },
    };
    const owner: Owner = { tool: "flux", kind, namespace: HOME, name: "workers" };
    expect(await openRecords(cluster)(owner, t)).toEqual({ lists: "unknown", reason: failure });
  },
);

test.each(KINDS.flatMap((kind) => rows.map((row) => [kind, ...row] as const)))(
  "%s: %s -> %s",
  async (kind, _, outcome, make) => {
    const owner: Owner = { tool: "flux", kind, namespace: HOME, name: "workers" };
    const { lists, reason } = await openRecords(snapshotCluster(make(kind)))(owner, t);
    expect(`${lists} ${reason}`).toBe(outcome);
  },
);
