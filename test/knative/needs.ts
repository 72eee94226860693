import { mayRefer } from "../../shared/graph/references.ts";
import { BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE, isTemplateKind } from "../../shared/objects/kinds.ts";
import type { GroupKind } from "../../shared/objects/object.ts";
import { kindsOf, pluralOf } from "./providers.ts";

export const FUNCTIONS = ["collect-templates", "label-machines", "retain-templates", "rewrite-urls"] as const;
export type FunctionName = (typeof FUNCTIONS)[number];
export type Action = "add" | "update" | "delete";

type Verbs = readonly string[];

/** What a function asks the API server for, by the part a kind plays. */
export interface Uses {
  /** Of every kind of the providers. */
  readonly everything?: Verbs;
  readonly templates?: Verbs;
  /** Of what can refer to a template and is none itself. */
  readonly referrers?: Verbs;
  /** Of Clusters and ClusterClasses, which own templates. */
  readonly owners?: Verbs;
  readonly namespaces?: Verbs;
  readonly definitions?: Verbs;
  readonly events?: Verbs;
  /** Of ConfigMaps, in the namespace it runs in. */
  readonly copies?: Verbs;
  /** Of ApiServerSources, in the namespace it runs in. */
  readonly sources?: Verbs;
  /** Of the one definition that tells the version of Cluster API. */
  readonly machineDefinition?: Verbs;
  /** Of single kinds. */
  readonly kinds?: readonly (readonly [group: string, kinds: readonly string[], verbs: Verbs])[];
}

const CONTROL_PLANES = ["AWSManagedControlPlane", "KubeadmControlPlane", "RKE2ControlPlane", "ROSAControlPlane"];
const COPIES = ["create", "delete", "get", "list", "patch"];
const INFRASTRUCTURE_MACHINES = [
  "AWSMachine",
  "DevMachine",
  "DockerMachine",
  "Metal3Machine",
  "OpenStackMachine",
  "VSphereMachine",
];
const MACHINE_TEMPLATES = INFRASTRUCTURE_MACHINES.map((kind) => `${kind}Template`);

export const USES: Readonly<Record<FunctionName, Uses>> = {
  "collect-templates": {
    everything: ["list"],
    templates: ["create", "delete", "get", "patch"],
    referrers: ["get"],
    owners: ["get"],
    namespaces: ["list"],
    definitions: ["list"],
    events: ["create"],
    copies: COPIES,
  },
  "retain-templates": {
    everything: ["list"],
    templates: ["create", "get", "patch", "watch"],
    owners: ["get"],
    namespaces: ["list"],
    definitions: ["list"],
    events: ["create"],
    copies: COPIES,
    sources: ["list"],
  },
  "rewrite-urls": {
    everything: ["list"],
    templates: ["get"],
    namespaces: ["list"],
    definitions: ["list"],
    events: ["create"],
    kinds: [
      [CORE, ["Cluster"], ["get"]],
      [INFRASTRUCTURE, ["Metal3Machine"], ["get", "patch"]],
      [INFRASTRUCTURE, ["Metal3MachineTemplate"], ["patch"]],
      [BOOTSTRAP, ["KubeadmConfigTemplate", "RKE2ConfigTemplate"], ["patch"]],
      ["metal3.io", ["BareMetalHost"], ["list"]],
    ],
  },
  "label-machines": {
    definitions: ["list"],
    events: ["create", "delete", "list"],
    kinds: [
      [CORE, ["Cluster"], ["get", "list", "patch"]],
      [CORE, ["Machine"], ["get", "list", "patch"]],
      [BOOTSTRAP, ["KubeadmConfig"], ["list", "patch"]],
      [CONTROL_PLANE, ["KubeadmControlPlane"], ["create"]],
      [CONTROL_PLANE, CONTROL_PLANES, ["get", "list", "patch"]],
      [INFRASTRUCTURE, INFRASTRUCTURE_MACHINES, ["get"]],
      [INFRASTRUCTURE, MACHINE_TEMPLATES, ["create", "get"]],
    ],
    machineDefinition: ["get"],
  },
};

/** One verb on kinds that play the same part for a function. */
export interface Need {
  readonly what: string;
  /** As "verb group/Kind". */
  readonly asks: readonly string[];
  /** As "verb group/plural", the way a role says it. */
  readonly grants: readonly string[];
}

/** What a function needs, with all providers there are. */
export function needsOf(name: FunctionName): readonly Need[] {
  const {
    everything,
    templates,
    referrers,
    owners,
    namespaces,
    definitions,
    events,
    copies,
    sources,
    kinds = [],
  } = USES[name];
  const need = (what: string, verbs: Verbs = [], of: readonly GroupKind[], where = ""): readonly Need[] =>
    verbs.map((verb) => ({
      what: `${verb} ${what}`,
      asks: of.map(({ group, kind }) => `${verb} ${group}/${kind}`),
      grants: of.map((kind) => `${verb} ${kind.group}/${pluralOf(kind)}${where}`),
    }));
  const some = (group: string, ...names: readonly string[]) => names.map((kind) => ({ group, kind }));
  const definition = some("apiextensions.k8s.io", "CustomResourceDefinition");
  return [
    ...need("everything", everything, kindsOf()),
    ...need("templates", templates, kindsOf().filter(isTemplateKind)),
    ...need("referrers", referrers, referrersAmong(kindsOf())),
    ...need("owners", owners, some(CORE, "Cluster", "ClusterClass")),
    ...need("namespaces", namespaces, some("", "Namespace")),
    ...need("definitions", definitions, definition),
    ...need("Events", events, some("events.k8s.io", "Event")),
    ...need("copies", copies, some("", "ConfigMap"), " in own namespace"),
    ...need("event sources", sources, some("sources.knative.dev", "ApiServerSource"), " in own namespace"),
    ...kinds.flatMap(([group, names, verbs]) => need(names.join(" or "), verbs, some(group, ...names))),
    ...need("the definition of Machines", USES[name].machineDefinition, definition, " named machines.cluster.x-k8s.io"),
  ];
}

/** Those of these kinds that are no templates and can refer to one of those that are. */
function referrersAmong(kinds: readonly GroupKind[]): readonly GroupKind[] {
  const templates = kinds.filter(isTemplateKind);
  return kinds.filter((kind) => !isTemplateKind(kind) && templates.some((template) => mayRefer(kind, template)));
}

/** The grants that all needs of a function come to. */
export function neededGrants(name: FunctionName): readonly string[] {
  return [...new Set(needsOf(name).flatMap(({ grants }) => grants))].toSorted();
}

/** Whether a function has something to do when this happens to an object of a kind (issue texts and functions/). */
export const NEEDS_EVENT: Readonly<Record<FunctionName, (kind: GroupKind, action: Action) => boolean>> = {
  "retain-templates": isTemplateKind,
  "collect-templates": (kind, action) => {
    if (action === "delete") return true;
    return (
      action === "update" &&
      (isTemplateKind(kind) || isControlPlane(kind) || isCore(kind, "Cluster", "MachineDeployment"))
    );
  },
  "rewrite-urls": (kind, action) => {
    if (action === "delete") return false;
    return isTemplateKind(kind) || (action === "add" ? kind.kind === "Metal3Machine" : isCore(kind, "Cluster"));
  },
  // Not of Machines and their configs, though it would take them: a busy cluster has thousands, and the sweep does it.
  "label-machines": (kind, action) => action !== "delete" && (isControlPlane(kind) || isCore(kind, "Cluster")),
};

function isCore({ group, kind }: GroupKind, ...kinds: readonly string[]): boolean {
  return group === CORE && kinds.includes(kind);
}

function isControlPlane({ group, kind }: GroupKind): boolean {
  return group === CONTROL_PLANE && !isTemplateKind({ group, kind });
}
