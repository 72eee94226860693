import { expect, test } from "vitest";
import { isRecord } from "../../shared/objects/path.ts";
import { CHECKS, differences } from "./checks.ts";
import { grantsOf } from "./grants.ts";
import { everything, type Manifest, manifestsOf, parseManifests } from "./manifests.ts";
import { neededGrants } from "./needs.ts";

type Edit = (manifests: readonly Manifest[]) => readonly Manifest[];

/** Sets a field, `undefined` removes it; the path's steps are fields and list places. */
function set(target: string, path: string, value: unknown): Edit {
  return (manifests) => {
    const hit = manifests.find((one) => `${one.kind} ${one.metadata.name}` === target);
    if (hit === undefined) throw new Error(`${target} is not there to be broken`);
    const steps = path.split(" ");
    const last = steps.pop() ?? "";
    const parent = steps.reduce<unknown>((at, step) => {
      if (isRecord(at) || Array.isArray(at)) return (at as Record<string, unknown>)[step];
      throw new Error(`${target} has no ${path}`);
    }, hit);
    if (!isRecord(parent) && !Array.isArray(parent)) throw new Error(`${target} has no ${path}`);
    const fields = parent as Record<string, unknown>;
    if (value === undefined) delete fields[last];
    else fields[last] = value;
    return manifests;
  };
}

const drop =
  (target: string): Edit =>
  (manifests) =>
    manifests.filter((one) => `${one.kind} ${one.metadata.name}` !== target);

const add =
  (text: string): Edit =>
  (manifests) => [...manifests, ...parseManifests(text)];

const RULES = "ClusterRole capi-caretaker:metal3:hold:write";
const CONTAINER = "spec template spec containers 0";

type Breach = readonly [situation: string, edit: Edit, check: keyof typeof CHECKS, complaint: string];

const BREACHES: readonly Breach[] = [
  ...["retry", "backoffPolicy", "backoffDelay", "timeout", "deadLetterSink"].map(
    (field) =>
      [
        `a Trigger without ${field}`,
        set("Trigger sweep-rewrite-urls", `spec delivery ${field}`, undefined),
        "everyDeliveryIsFull",
        `Trigger sweep-rewrite-urls has no ${field}`,
      ] as const,
  ),
  [
    "a Trigger with no delivery at all",
    set("Trigger retain-templates", "spec delivery", undefined),
    "everyDeliveryIsFull",
    "Trigger retain-templates has no retry",
  ],
  [
    "a Broker without a timeout",
    set("Broker events", "spec delivery timeout", undefined),
    "everyDeliveryIsFull",
    "Broker events has no timeout",
  ],
  [
    "no Broker for dead letters",
    drop("Broker dead-letters"),
    "everyDeliveryIsFull",
    "dead-letters, which is not there",
  ],
  ["no Broker", drop("Broker events"), "everyDeliveryIsFull", "Broker events is not there"],
  [
    "a Trigger that gives up before its function",
    set("Trigger retain-templates", "spec delivery timeout", "PT30S"),
    "triggersWaitLongEnough",
    "waits 30 s for up to 300 s",
  ],
  [
    "a Trigger to nobody",
    set("Trigger retain-templates", "spec subscriber ref name", "gone"),
    "triggersWaitLongEnough",
    "leads to gone",
  ],
  [
    "a Trigger without filters",
    set("Trigger retain-templates", "spec filters", []),
    "noReplyComesBack",
    "Trigger retain-templates takes replies",
  ],
  [
    "a Trigger that filters by kind alone",
    set("Trigger retain-templates", "spec filters", [{ suffix: { kind: "Template" } }]),
    "noReplyComesBack",
    "Trigger retain-templates takes replies",
  ],
  [
    "a Trigger that takes everything but ticks",
    set("Trigger retain-templates", "spec filters", [{ not: { exact: { type: "dev.knative.sources.ping" } } }]),
    "noReplyComesBack",
    "Trigger retain-templates takes replies",
  ],
  [
    "two functions of one account",
    set("Service rewrite-urls", "spec template spec serviceAccountName", "retain-templates"),
    "everyFunctionHasItsOwnAccount",
    "rewrite-urls and retain-templates share",
  ],
  [
    "a source with the account of a function",
    set("ApiServerSource metal3", "spec serviceAccountName", "collect-templates"),
    "everyFunctionHasItsOwnAccount",
    "a source and collect-templates share",
  ],
  [
    "a function without an account",
    set("Service rewrite-urls", "spec template spec serviceAccountName", undefined),
    "everyFunctionHasItsOwnAccount",
    "rewrite-urls runs as default",
  ],
  ["secrets", set(RULES, "rules 0 resources", ["secrets"]), "noRoleGrantsTooMuch", "grants secrets"],
  [
    "tokens",
    set(RULES, "rules 0 resources", ["serviceaccounts/token"]),
    "noRoleGrantsTooMuch",
    "serviceaccounts/token",
  ],
  ["every verb", set(RULES, "rules 0 verbs", ["*"]), "noRoleGrantsTooMuch", "grants the verb *"],
  ["every resource", set(RULES, "rules 0 resources", ["*"]), "noRoleGrantsTooMuch", "has a wildcard"],
  ["every status", set(RULES, "rules 0 resources", ["*/status"]), "noRoleGrantsTooMuch", "has a wildcard"],
  ["every group", set(RULES, "rules 0 apiGroups", ["*"]), "noRoleGrantsTooMuch", "has a wildcard"],
  ["escalation", set(RULES, "rules 0 verbs", ["escalate"]), "noRoleGrantsTooMuch", "grants the verb escalate"],
  [
    "a write without its mark",
    set(RULES, "metadata labels capi-caretaker.io/writes", undefined),
    "everyWriteIsMarked",
    `${RULES.slice(12)} writes without the mark`,
  ],
  ["a mark without a write", set(RULES, "rules 0 verbs", ["get"]), "everyWriteIsMarked", "is marked as writing"],
  [
    "a ClusterRole that no label adds",
    set("ClusterRole capi-caretaker:listen", "metadata labels", {}),
    "noRoleIsIdle",
    "capi-caretaker:listen is bound to nobody",
  ],
  [
    "a source of two groups",
    set("ApiServerSource metal3", "spec resources 0 apiVersion", "ipam.metal3.io/v1alpha1"),
    "everySourceIsSafe",
    "metal3 watches ipam.metal3.io/v1alpha1 and infrastructure.cluster.x-k8s.io/v1beta2",
  ],
  [
    "a source of two versions",
    set("ApiServerSource core", "spec resources 0 apiVersion", "cluster.x-k8s.io/v1beta1"),
    "everySourceIsSafe",
    "core watches cluster.x-k8s.io/v1beta1 and",
  ],
  [
    "a source in Reference mode",
    set("ApiServerSource core", "spec mode", undefined),
    "everySourceIsSafe",
    "does not send whole objects",
  ],
  [
    "a source that watches namespace by namespace",
    set("ApiServerSource core", "spec namespaceSelector", { matchLabels: { a: "b" } }),
    "everySourceIsSafe",
    "has a watch for each namespace",
  ],
  [
    "a source to nobody",
    set("ApiServerSource core", "spec sink ref name", "default"),
    "everySourceIsSafe",
    "sends to default",
  ],
  [
    "a source in another's partition",
    set("ApiServerSource core", "spec ceOverrides extensions partitionkey", "metal3"),
    "everySourceIsSafe",
    "has no partition of its own",
  ],
  [
    "a watch that the role does not cover",
    set("ApiServerSource core", "spec resources 0 kind", "MachineDrainRule"),
    "everySourceMayWatch",
    "core-source lacks watch cluster.x-k8s.io/machinedrainrules",
  ],
  [
    "a role that covers more than is watched",
    set("ApiServerSource core", "spec resources 0 kind", "Machine"),
    "everySourceMayWatch",
    "core-source has watch cluster.x-k8s.io/clusters and needs it not",
  ],
  ["no Service", drop("Service rewrite-urls"), "everyFunctionIsServedWell", "Service rewrite-urls is not there"],
  [
    "a public Service",
    set("Service rewrite-urls", "metadata labels", {}),
    "everyFunctionIsServedWell",
    "can be reached from outside",
  ],
  [
    "a Service that never rests",
    set("Service rewrite-urls", "spec template metadata annotations autoscaling.knative.dev/min-scale", "1"),
    "everyFunctionIsServedWell",
    "does not scale to zero",
  ],
  [
    "a Service with no bound",
    set("Service rewrite-urls", "spec template metadata annotations autoscaling.knative.dev/max-scale", "0"),
    "everyFunctionIsServedWell",
    "scales without a limit",
  ],
  [
    "the argument of another function",
    set("Service rewrite-urls", `${CONTAINER} args`, ["retain-templates"]),
    "everyFunctionIsServedWell",
    "serves another function",
  ],
  [
    "an image of its own",
    set("Service rewrite-urls", `${CONTAINER} image`, "somewhere/rewrite-urls:1"),
    "everyFunctionIsServedWell",
    "has an image of its own",
  ],
  [
    "no readiness probe",
    set("Service rewrite-urls", `${CONTAINER} readinessProbe`, undefined),
    "everyFunctionIsServedWell",
    "has no readiness probe",
  ],
  [
    "a readiness probe by the second",
    set("Service rewrite-urls", `${CONTAINER} readinessProbe periodSeconds`, 1),
    "everyFunctionIsServedWell",
    "is asked by the second whether it is ready",
  ],
  [
    "a startup probe",
    set("Service rewrite-urls", `${CONTAINER} startupProbe`, { httpGet: { path: "/health/readiness" } }),
    "everyFunctionIsServedWell",
    "waits for the kubelet at its start",
  ],
  [
    "no memory limit",
    set("Service rewrite-urls", `${CONTAINER} resources limits memory`, undefined),
    "everyFunctionIsServedWell",
    "says not what it takes",
  ],
  [
    "more memory asked for than allowed",
    set("Service rewrite-urls", `${CONTAINER} resources requests memory`, "1024Mi"),
    "everyFunctionIsServedWell",
    "asks for more memory than it may take",
  ],
  [
    "any number of requests at once",
    set("Service rewrite-urls", "spec template spec containerConcurrency", 0),
    "everyFunctionIsServedWell",
    "takes any number of requests at once",
  ],
  [
    "a second word on how it scales",
    set("Service rewrite-urls", "spec template metadata annotations autoscaling.knative.dev/maxScale", "9"),
    "everyFunctionIsServedWell",
    "says in another way how it scales",
  ],
  [
    "a writable root",
    set("Service rewrite-urls", `${CONTAINER} securityContext readOnlyRootFilesystem`, false),
    "everyFunctionIsServedWell",
    "is not restricted",
  ],
  [
    "a pod that no NetworkPolicy selects",
    set("Service rewrite-urls", "spec template metadata labels", {}),
    "everyFunctionIsServedWell",
    "is in no NetworkPolicy",
  ],
  ["no sweep", drop("PingSource sweep-rewrite-urls"), "everyFunctionSweeps", "rewrite-urls has no sweep"],
  [
    "a sweep that nobody hears",
    drop("Trigger sweep-rewrite-urls"),
    "everyFunctionSweeps",
    "a sweep of rewrite-urls reaches nobody",
  ],
  [
    "a sweep that all hear",
    set("Trigger sweep-rewrite-urls", "spec filters", [{ exact: { type: "dev.knative.sources.ping" } }]),
    "everyFunctionSweeps",
    "a sweep of retain-templates reaches retain-templates, rewrite-urls",
  ],
  [
    "a sweep an hour",
    set("PingSource sweep-rewrite-urls", "spec schedule", "7 * * * *"),
    "everyFunctionSweeps",
    "rewrite-urls sweeps 0 times an hour",
  ],
  [
    "two sweeps at once",
    set("PingSource sweep-rewrite-urls", "spec schedule", "*/10 * * * *"),
    "everyFunctionSweeps",
    "rewrite-urls sweeps in another's minute",
  ],
  [
    "an object of another namespace",
    set("Trigger retain-templates", "metadata namespace", "default"),
    "everyObjectIsAtHome",
    "Trigger retain-templates is in namespace default",
  ],
];

test.each(BREACHES.map(([situation, edit, check, complaint]) => ({ situation, edit, check, complaint })))(
  "$situation -> $complaint",
  ({ edit, check, complaint }) => {
    const problems = CHECKS[check](edit(structuredClone(everything())));
    expect(problems.join("\n")).toContain(complaint);
  },
);

test("every check -> is shown to fail", () => {
  const shown = new Set(BREACHES.map(([, , check]) => check));
  expect(Object.keys(CHECKS).filter((check) => !shown.has(check as keyof typeof CHECKS))).toEqual([]);
});

test.each<readonly [situation: string, edit: Edit, complaint: string]>([
  [
    "a right that nobody uses",
    set("ClusterRole capi-caretaker:metal3:retain-templates", "rules 0 verbs", ["watch", "delete"]),
    "retain-templates has delete infrastructure.cluster.x-k8s.io/metal3datatemplates and needs it not",
  ],
  [
    "a right that is missing",
    set("ClusterRole capi-caretaker:metal3:retain-templates", "rules 0 verbs", []),
    "retain-templates lacks watch infrastructure.cluster.x-k8s.io/metal3datatemplates",
  ],
  [
    "a rule added to another function",
    set("ClusterRole capi-caretaker:metal3:collect-templates:write", "metadata labels", {
      "capi-caretaker.io/aggregate-to-retain-templates": "true",
    }),
    "retain-templates has delete",
  ],
  [
    "ConfigMaps of every namespace",
    add(
      [
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x},",
        "roleRef: {kind: ClusterRole, name: x}, subjects: [{kind: ServiceAccount, name: retain-templates, namespace: n}]}\n---\n",
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x},",
        'rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}',
      ].join(" "),
    ),
    "retain-templates has get /configmaps and needs it not",
  ],
])("%s -> is found", (_, edit, complaint) => {
  const name = "retain-templates";
  const granted = grantsOf(name, edit(structuredClone(everything())));
  expect(differences(name, neededGrants(name), granted).join("\n")).toContain(complaint);
});

test("a binding to a role that is not there -> is an error", () => {
  const manifests = drop("ClusterRole capi-caretaker:kinds")(everything());
  expect(() => grantsOf("retain-templates", manifests)).toThrow("capi-caretaker:kinds, which is not there");
});

test("a folder that is no kustomization -> is an error", () => {
  expect(() => manifestsOf("overlays")).toThrow("kustomization.yaml");
});
