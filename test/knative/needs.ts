import { BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE, isTemplateKind } from "../../shared/kinds.ts";
import type { GroupKind } from "../../shared/object.ts";
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
  /** Of Clusters and ClusterClasses, which own templates. */
  readonly owners?: Verbs;
  readonly namespaces?: Verbs;
  readonly definitions?: Verbs;
  readonly events?: Verbs;
  /** Of ConfigMaps, in the namespace it runs in. */
  readonly copies?: Verbs;
  /** As they stand in a role, where nothing above fits. */
  readonly others?: readonly string[];
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
  },
  "rewrite-urls": {
    everything: ["list"],
    templates: ["get"],
    namespaces: ["list"],
    definitions: ["list"],
    events: ["create"],
    kinds: [
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
      [CORE, ["Machine"], ["list", "patch"]],
      [BOOTSTRAP, ["KubeadmConfig"], ["list", "patch"]],
      [CONTROL_PLANE, ["KubeadmControlPlane"], ["create"]],
      [CONTROL_PLANE, CONTROL_PLANES, ["get", "list", "patch"]],
      [INFRASTRUCTURE, INFRASTRUCTURE_MACHINES, ["get"]],
      [INFRASTRUCTURE, MACHINE_TEMPLATES, ["create", "get"]],
    ],
    // Alone among the definitions, by name.
    others: ["get apiextensions.k8s.io/customresourcedefinitions named machines.cluster.x-k8s.io"],
  },
};

/** The grants that the uses of a function come to, with all providers there are. */
export function neededGrants(name: FunctionName): readonly string[] {
  const {
    everything,
    templates,
    owners,
    namespaces,
    definitions,
    events,
    copies,
    kinds = [],
    others = [],
  } = USES[name];
  const all = kindsOf();
  const of = (verbs: Verbs = [], some: readonly GroupKind[]) =>
    verbs.flatMap((verb) => some.map((kind) => `${verb} ${kind.group}/${pluralOf(kind)}`));
  const some = (group: string, names: readonly string[]) => names.map((kind) => ({ group, kind }));
  const needed = [
    ...of(everything, all),
    ...of(templates, all.filter(isTemplateKind)),
    ...of(owners, some(CORE, ["Cluster", "ClusterClass"])),
    ...of(namespaces, some("", ["Namespace"])),
    ...of(definitions, some("apiextensions.k8s.io", ["CustomResourceDefinition"])),
    ...of(events, some("events.k8s.io", ["Event"])),
    ...of(copies, some("", ["ConfigMap"])).map((grant) => `${grant} in own namespace`),
    ...others,
    ...kinds.flatMap(([group, names, verbs]) => of(verbs, some(group, names))),
  ];
  return [...new Set(needed)].toSorted();
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
  "label-machines": (kind, action) => {
    if (action === "delete") return isCore(kind, "Machine");
    return isControlPlane(kind) || kind.kind === "KubeadmConfig" || isCore(kind, "Cluster", "Machine");
  },
};

function isCore({ group, kind }: GroupKind, ...kinds: readonly string[]): boolean {
  return group === CORE && kinds.includes(kind);
}

function isControlPlane({ group, kind }: GroupKind): boolean {
  return group === CONTROL_PLANE && !isTemplateKind({ group, kind });
}
