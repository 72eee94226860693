import { expect, test } from "vitest";
import { decide } from "../../functions/collect-templates/decide.ts";
import { factsFrom } from "../../shared/look/facts.ts";
import { DELETE_FOR_MOVE, RENEWED_AT, RETAIN, TOPOLOGY_OWNED, UNNEEDED_SINCE } from "../../shared/marks/marks.ts";
import { CORE, INFRASTRUCTURE } from "../../shared/objects/kinds.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import {
  annotated,
  BORN,
  cluster,
  clusterClass,
  finalizedBy,
  HOME,
  held,
  inNamespace,
  kubeadmConfig,
  kubeadmConfigTemplate,
  kubeadmControlPlane,
  labelled,
  machineDeployment,
  machineHealthCheck,
  machineSet,
  metal3Data,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  NOON,
  namespace,
  noon,
  object,
  ownedBy,
  retired,
  rke2ConfigTemplate,
  rke2ControlPlane,
  terminating,
  VERSIONS,
} from "../build/objects.ts";

const mgmt = cluster();
const t = metal3MachineTemplate("t");
const going = held(terminating(ownedBy(t, mgmt), noon(-30)));
const restored = held(retired(ownedBy(t, mgmt), noon(-30)));
const justNow = held(terminating(ownedBy(t, mgmt), noon(-1)));
const data = metal3DataTemplate("d");
const goingData = held(terminating(data, noon(-30)));
const elsewhere = "other";

interface Row {
  readonly situation: string;
  readonly outcome: string;
  readonly template: KubeObject;
  readonly others?: readonly KubeObject[];
  readonly unread?: readonly { readonly group: string; readonly kind: string; readonly reason: string }[];
  readonly namespaces?: readonly KubeObject[];
}

const since = (minutes: number) => ({ [UNNEEDED_SINCE]: noon(minutes).toString() });
const paused = cluster("mgmt", { paused: true });
const unread = (group: string, kind: string) => [{ group, kind, reason: "forbidden" }];
const clone = (one: KubeObject) => metal3Machine("m", { clonedFrom: one });

const ROWS: readonly Row[] = [
  // Nothing is decided about what nobody asked to delete, or what is not ours.
  { situation: "live, unretired, unused", outcome: "leave not-retired", template: held(t) },
  { situation: "live, unretired, used", outcome: "leave not-retired", template: held(t), others: [clone(t)] },
  {
    situation: "Terminating without our hold",
    outcome: "leave not-held",
    template: finalizedBy(terminating(t), "x/y"),
  },
  {
    situation: "deleted by clusterctl for a move",
    outcome: "leave off-limits",
    template: annotated(going, { [DELETE_FOR_MOVE]: "" }),
  },
  {
    situation: "owned by the topology controller",
    outcome: "leave off-limits",
    template: labelled(going, { [TOPOLOGY_OWNED]: "" }),
  },
  {
    situation: "opted out, Terminating, held, needed",
    outcome: "collect opted-out",
    template: annotated(going, { [RETAIN]: "false" }),
    others: [clone(t)],
  },
  {
    situation: "opted out, live, held",
    outcome: "release opted-out",
    template: annotated(held(t), { [RETAIN]: "false" }),
  },
  { situation: "opted out, never held", outcome: "leave opted-out", template: annotated(t, { [RETAIN]: "false" }) },
  {
    situation: "retain: true is no opt-out",
    outcome: "collect unneeded",
    template: annotated(going, { [RETAIN]: "true" }),
  },

  // Needed.
  { situation: "a machine cloned from it", outcome: "keep needed", template: going, others: [clone(t)] },
  {
    situation: "a Terminating machine cloned from it",
    outcome: "keep needed",
    template: going,
    others: [terminating(clone(t))],
  },
  {
    situation: "a machine of the same template name in another namespace",
    outcome: "collect unneeded",
    template: going,
    others: [inNamespace(clone(t), elsewhere)],
  },
  {
    situation: "a machine cloned from another kind of that name",
    outcome: "collect unneeded",
    template: going,
    others: [kubeadmConfig("m", { clonedFrom: kubeadmConfigTemplate("t") })],
  },
  {
    situation: "an old MachineSet of a MachineDeployment",
    outcome: "keep needed",
    template: going,
    others: [ownedBy(machineSet("s", { uses: t }), machineDeployment("md"), true)],
  },
  {
    situation: "a Terminating MachineDeployment",
    outcome: "keep needed",
    template: going,
    others: [terminating(machineDeployment("md", { uses: t }))],
  },
  { situation: "an owner is no user", outcome: "collect unneeded", template: ownedBy(going, machineDeployment("md")) },
  {
    situation: "retired template needed over a retired template",
    outcome: "keep needed",
    template: goingData,
    others: [held(terminating(metal3MachineTemplate("t", { uses: data }))), clone(t)],
  },
  {
    situation: "named only by a retired, unneeded template",
    outcome: "collect unneeded",
    template: goingData,
    others: [held(terminating(metal3MachineTemplate("t", { uses: data })))],
  },
  {
    situation: "named by rendered data",
    outcome: "keep needed",
    template: goingData,
    others: [metal3Data("d-0", { uses: data })],
  },
  {
    situation: "named by Terminating rendered data",
    outcome: "keep needed",
    template: goingData,
    others: [terminating(metal3Data("d-0", { uses: data }))],
  },
  {
    situation: "needed while its Cluster is paused",
    outcome: "keep needed",
    template: going,
    others: [clone(t), paused],
  },
  { situation: "needed while its Cluster is gone", outcome: "keep needed", template: going, others: [clone(t)] },

  // Wanted.
  {
    situation: "wanted, retired a minute ago",
    outcome: "keep needed",
    template: justNow,
    others: [mgmt, machineDeployment("md", { uses: t })],
  },
  {
    situation: "wanted by a MachineDeployment",
    outcome: "renew wanted",
    template: going,
    others: [mgmt, machineDeployment("md", { uses: t })],
  },
  {
    situation: "wanted, not Terminating",
    outcome: "renew wanted",
    template: restored,
    others: [mgmt, machineDeployment("md", { uses: t })],
  },
  {
    situation: "wanted by a MachineSet of its own",
    outcome: "renew wanted",
    template: going,
    others: [mgmt, machineSet("s", { uses: t })],
  },
  {
    situation: "wanted by a class",
    outcome: "renew wanted",
    template: going,
    others: [mgmt, clusterClass("c", { uses: t })],
  },
  {
    situation: "wanted by an unretired template",
    outcome: "renew wanted",
    template: goingData,
    others: [metal3MachineTemplate("t", { uses: data })],
  },
  {
    situation: "asked for by a Terminating MachineDeployment beside a live one",
    outcome: "keep referrer-terminating",
    template: going,
    others: [mgmt, machineDeployment("md", { uses: t }), terminating(clone(t))],
  },
  {
    situation: "wanted, not Terminating, a referrer Terminating",
    outcome: "renew wanted",
    template: restored,
    others: [mgmt, machineDeployment("md", { uses: t }), terminating(clone(t))],
  },
  {
    situation: "wanted, another finalizer on it",
    outcome: "keep other-finalizer",
    template: finalizedBy(going, "x/y"),
    others: [mgmt, machineDeployment("md", { uses: t })],
  },
  {
    situation: "wanted, Terminating, its Cluster paused",
    outcome: "wait cluster-paused",
    template: going,
    others: [paused, machineDeployment("md", { uses: t })],
  },
  {
    situation: "wanted, its Cluster Terminating",
    outcome: "keep needed",
    template: going,
    others: [terminating(mgmt), machineDeployment("md", { uses: t })],
  },
  {
    situation: "wanted, its Cluster gone",
    outcome: "keep needed",
    template: going,
    others: [machineDeployment("md", { uses: t })],
  },
  {
    situation: "wanted, its namespace Terminating",
    outcome: "keep needed",
    template: going,
    others: [mgmt, machineDeployment("md", { uses: t })],
    namespaces: [terminating(namespace())],
  },
  {
    situation: "wanted, its namespace gone",
    outcome: "keep needed",
    template: going,
    others: [mgmt, machineDeployment("md", { uses: t })],
    namespaces: [],
  },
  {
    situation: "retired again half an hour after its renewal",
    outcome: "keep renew-contested",
    template: annotated(going, { [RENEWED_AT]: noon(-60).toString() }),
    others: [mgmt, machineDeployment("md", { uses: t })],
  },
  {
    situation: "retired again two hours after its renewal",
    outcome: "renew wanted",
    template: annotated(going, { [RENEWED_AT]: noon(-150).toString() }),
    others: [mgmt, machineDeployment("md", { uses: t })],
  },
  {
    situation: "retired-at that is no time, wanted",
    outcome: "keep needed",
    template: annotated(restored, { "capi-caretaker.io/retired-at": "yesterday" }),
    others: [mgmt, machineDeployment("md", { uses: t })],
  },

  // Unneeded.
  { situation: "Terminating, nothing needs it", outcome: "collect unneeded", template: going, others: [mgmt] },
  {
    situation: "Terminating since a moment, nothing needs it",
    outcome: "collect unneeded",
    template: justNow,
    others: [mgmt],
  },
  { situation: "restored, unneeded as of now", outcome: "wait grace-period", template: restored, others: [mgmt] },
  {
    situation: "restored, unneeded for nine minutes",
    outcome: "wait grace-period",
    template: annotated(restored, since(-9)),
    others: [mgmt],
  },
  {
    situation: "restored, unneeded for ten minutes",
    outcome: "collect unneeded",
    template: annotated(restored, since(-10)),
    others: [mgmt],
  },
  {
    situation: "unneeded-since older than the object",
    outcome: "wait grace-period",
    template: annotated(restored, { [UNNEEDED_SINCE]: "2026-07-01T00:00:00Z" }),
    others: [mgmt],
  },
  {
    situation: "unneeded-since in the future",
    outcome: "wait grace-period",
    template: annotated(restored, since(999)),
    others: [mgmt],
  },
  {
    situation: "unneeded-since that is no time",
    outcome: "wait grace-period",
    template: annotated(restored, { [UNNEEDED_SINCE]: "soon" }),
    others: [mgmt],
  },
  { situation: "unneeded, its Cluster paused", outcome: "wait cluster-paused", template: going, others: [paused] },
  {
    situation: "unneeded, its Cluster paused by annotation",
    outcome: "wait cluster-paused",
    template: going,
    others: [annotated(mgmt, { "cluster.x-k8s.io/paused": "" })],
  },
  {
    situation: "restored, unneeded, its Cluster Terminating",
    outcome: "collect cluster-gone",
    template: restored,
    others: [terminating(mgmt)],
  },
  { situation: "restored, unneeded, its Cluster gone", outcome: "collect cluster-gone", template: restored },
  {
    situation: "restored, unneeded, no Cluster found",
    outcome: "wait grace-period",
    template: held(retired(t, noon(-30))),
  },
  {
    situation: "unneeded, one of two Clusters gone",
    outcome: "wait grace-period",
    template: ownedBy(restored, cluster("second")),
    others: [mgmt],
  },
  {
    situation: "unneeded, one of two Clusters paused",
    outcome: "wait cluster-paused",
    template: ownedBy(restored, cluster("second")),
    others: [mgmt, cluster("second", { paused: true })],
  },

  // Unknown.
  {
    situation: "a MachineDeployment names something by name only",
    outcome: "keep unreadable-reference",
    template: going,
    others: [mgmt, partial({ name: "t" })],
  },
  {
    situation: "a MachineDeployment names something by kind only",
    outcome: "keep unreadable-reference",
    template: going,
    others: [mgmt, partial({ kind: "Metal3MachineTemplate", apiVersion: t.apiVersion })],
  },
  {
    situation: "a MachineDeployment names another thing by name only",
    outcome: "collect unneeded",
    template: going,
    others: [mgmt, partial({ name: "u" })],
  },
  {
    situation: "an unreadable reference in another namespace",
    outcome: "collect unneeded",
    template: going,
    others: [mgmt, inNamespace(partial({ name: "t" }), elsewhere)],
  },
  {
    situation: "a reference with neither kind nor name",
    outcome: "collect unneeded",
    template: going,
    others: [mgmt, partial({})],
  },
  {
    situation: "MachineSets could not be listed",
    outcome: "keep unreadable-kind",
    template: going,
    others: [mgmt],
    unread: unread(CORE, "MachineSet"),
  },
  {
    situation: "its own clones could not be listed",
    outcome: "keep unreadable-kind",
    template: going,
    others: [mgmt],
    unread: unread(INFRASTRUCTURE, "Metal3Machine"),
  },
  {
    situation: "another provider's machines could not be listed",
    outcome: "collect unneeded",
    template: going,
    others: [mgmt],
    unread: unread(INFRASTRUCTURE, "DockerMachine"),
  },
  {
    situation: "a kind is hidden in its group",
    outcome: "keep unreadable-kind",
    template: going,
    others: [mgmt],
    unread: unread(INFRASTRUCTURE, "*"),
  },
  {
    situation: "named by a retired template whose own use is unknown",
    outcome: "keep unreadable-kind",
    template: goingData,
    others: [held(terminating(metal3MachineTemplate("t", { uses: data })))],
    unread: unread(INFRASTRUCTURE, "Metal3Machine"),
  },
  {
    situation: "a pool of another kind keeps nothing",
    outcome: "collect unneeded",
    template: held(terminating(kubeadmConfigTemplate("t"))),
    others: [clone(t)],
  },
];

// Its bootstrap reference is whole; the one to its infrastructure is not.
function partial(infrastructureRef: Readonly<Record<string, unknown>>): KubeObject {
  return object(`MachineDeployment.${CORE}/v1beta1`, "md", { spec: { template: { spec: { infrastructureRef } } } });
}

test.each(ROWS)("$situation -> $outcome", ({ template, others = [], unread: failed = [], namespaces, outcome }) => {
  const facts = factsFrom([template, ...others], namespaces ?? [namespace(HOME), namespace(elsewhere)], failed);
  const terms = { now: NOON, collectGrace: minutes(10), renewAfter: minutes(2) };
  const decision = decide(template, facts, terms);
  expect(`${decision.verdict} ${decision.because}`).toBe(outcome);
});

const SHAPES = VERSIONS.flatMap((version) => [
  { version, what: "a MachineDeployment", by: machineDeployment("r", { version, uses: t }), of: t },
  { version, what: "a KubeadmControlPlane", by: kubeadmControlPlane("r", { version, uses: t }), of: t },
  { version, what: "an RKE2ControlPlane", by: rke2ControlPlane("r", { version, uses: t }), of: t },
  {
    version,
    what: "a MachineHealthCheck",
    by: machineHealthCheck("r", { version, uses: object(`Metal3RemediationTemplate.${INFRASTRUCTURE}/v1beta1`, "t") }),
    of: object(`Metal3RemediationTemplate.${INFRASTRUCTURE}/v1beta1`, "t"),
  },
  {
    version,
    what: "a deployment of another bootstrap provider",
    by: machineDeployment("r", { version, uses: rke2ConfigTemplate("t") }),
    of: rke2ConfigTemplate("t"),
  },
]);

test.each(SHAPES)("wanted by $what in $version -> renew, and keep once that is Terminating", ({ by, of }) => {
  const template = held(terminating(of, noon(-30)));
  const terms = { now: NOON, collectGrace: minutes(10), renewAfter: minutes(2) };
  const verdictWith = (referrer: KubeObject) =>
    decide(template, factsFrom([template, mgmt, referrer], [namespace()], []), terms).verdict;
  expect(verdictWith(by)).toBe("renew");
  expect(verdictWith(terminating(by))).toBe("keep");
});

test("a grace period -> ends the grace period after the mark", () => {
  const template = annotated(restored, since(-4));
  const decision = decide(template, factsFrom([template, mgmt], [namespace()], []), {
    now: NOON,
    collectGrace: minutes(10),
    renewAfter: minutes(2),
  });
  expect(decision).toMatchObject({ verdict: "wait", until: noon(6), starts: false });
});

test("built objects are older than noon, so that no mark of theirs is from another life", () => {
  expect(Temporal.Instant.compare(Temporal.Instant.from(BORN), noon(-60))).toBe(-1);
});

function minutes(count: number): Temporal.Duration {
  return Temporal.Duration.from({ minutes: count });
}
