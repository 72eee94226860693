import { CLONED_FROM_GROUPKIND, CLONED_FROM_NAME, HOLD, RETIRED_AT, RETIRED_LABEL } from "../../shared/marks/marks.ts";
import { BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE } from "../../shared/objects/kinds.ts";
import { groupKindText, groupOf, type KubeObject, keyOf } from "../../shared/objects/object.ts";

/** Every test's hour zero. Nothing in the tests reads the real clock. */
export const NOON = Temporal.Instant.from("2026-09-01T12:00:00Z");
/** When built objects were created, well before anything happens to them. */
export const BORN = "2026-08-01T00:00:00Z";
/** The namespace of everything that says no other. */
export const HOME = "sylva";

/** Minutes after noon; negative ones are before. */
export function noon(minutes = 0): Temporal.Instant {
  return NOON.add({ seconds: Math.round(minutes * 60) });
}

export type Version = "v1beta1" | "v1beta2";
export const VERSIONS: readonly Version[] = ["v1beta1", "v1beta2"];

type Fields = { readonly [field: string]: unknown };

interface Versioned {
  /** Of the object's API: its references have that version's shape, at that version's paths. */
  readonly version?: Version;
}

interface Uses extends Versioned {
  /** The objects it names; each goes to the field that is made for its kind. */
  readonly uses?: KubeObject | readonly KubeObject[];
  readonly clusterName?: string;
}

interface Cloned extends Uses {
  /** The template it was made from, as the CAPI contract notes it. */
  readonly clonedFrom?: KubeObject;
}

/**
 * Any object. `type` is the kind with its apiVersion, "Metal3Machine.infrastructure.cluster.x-k8s.io/v1beta1" or
 * "ConfigMap.v1"; `fields` may hold anything beside apiVersion, kind and name, metadata too.
 */
export function object(type: string, name: string, fields: Fields = {}): KubeObject {
  const dot = type.indexOf(".");
  const kind = type.slice(0, dot);
  const { metadata, ...rest } = fields;
  return {
    apiVersion: type.slice(dot + 1),
    kind,
    ...rest,
    metadata: {
      name,
      namespace: HOME,
      uid: uidFor(kind, HOME, name),
      creationTimestamp: BORN,
      ...(metadata as Fields | undefined),
    },
  };
}

function clusterScoped(type: string, name: string, fields: Fields = {}): KubeObject {
  const made = object(type, name, fields);
  const { namespace: _, ...metadata } = made.metadata;
  return { ...made, metadata: { ...metadata, uid: uidFor(made.kind, "", name) } };
}

export function namespace(name = HOME): KubeObject {
  return clusterScoped("Namespace.v1", name);
}

/** A reference to `target` as an object of this version writes it. */
export function referenceTo(target: KubeObject, version: Version = "v1beta1"): Fields {
  const { group, kind, name } = keyOf(target);
  return version === "v1beta1" ? { apiVersion: target.apiVersion, kind, name } : { apiGroup: group, kind, name };
}

export function cluster(name = "mgmt", options: Uses & { readonly paused?: boolean } = {}): KubeObject {
  const { version = "v1beta1", uses, paused } = options;
  const fieldOf = (target: KubeObject) =>
    groupOf(target.apiVersion) === CONTROL_PLANE ? "controlPlane" : "infrastructure";
  const refs = Object.fromEntries(listOf(uses).map((one) => [`${fieldOf(one)}Ref`, referenceTo(one, version)]));
  return object(`Cluster.${CORE}/${version}`, name, { spec: { ...refs, ...(paused && { paused }) } });
}

export function machineDeployment(name: string, options: Uses = {}): KubeObject {
  return workers("MachineDeployment", name, options);
}

/** Without an owner it stands alone; `ownedBy(machineSet(…), machineDeployment(…))` makes it a revision. */
export function machineSet(name: string, options: Uses = {}): KubeObject {
  return workers("MachineSet", name, options);
}

export function machinePool(name: string, options: Uses = {}): KubeObject {
  return workers("MachinePool", name, options);
}

export function machine(name: string, options: Uses = {}): KubeObject {
  const { version = "v1beta1", uses, clusterName = "mgmt" } = options;
  return object(`Machine.${CORE}/${version}`, name, { spec: { clusterName, ...machineRefs(uses, version) } });
}

export function machineHealthCheck(name: string, options: Uses = {}): KubeObject {
  const { version = "v1beta1", uses, clusterName = "mgmt" } = options;
  const [template] = listOf(uses);
  // This one field keeps an apiVersion in both versions.
  const ref = template && referenceTo(template);
  const remediation = version === "v1beta1" ? { remediationTemplate: ref } : { remediation: { templateRef: ref } };
  return object(`MachineHealthCheck.${CORE}/${version}`, name, { spec: { clusterName, ...(ref && remediation) } });
}

/** A class that uses its templates as the machine infrastructure and bootstrap of one worker class. */
export function clusterClass(name: string, options: Uses = {}): KubeObject {
  const { version = "v1beta1", uses } = options;
  const field = version === "v1beta1" ? "ref" : "templateRef";
  const parts = Object.fromEntries(listOf(uses).map((one) => [partOf(one), { [field]: referenceTo(one) }]));
  const worker = version === "v1beta1" ? { class: "w", template: parts } : { class: "w", ...parts };
  return object(`ClusterClass.${CORE}/${version}`, name, { spec: { workers: { machineDeployments: [worker] } } });
}

export function kubeadmControlPlane(name: string, options: Uses = {}): KubeObject {
  return controlPlane("KubeadmControlPlane", name, options);
}

export function rke2ControlPlane(name: string, options: Uses = {}): KubeObject {
  return controlPlane("RKE2ControlPlane", name, options);
}

export function metal3MachineTemplate(name: string, options: Uses = {}): KubeObject {
  const spec = { nodeReuse: true, image: { url: "http://10.0.0.1/os.qcow2" }, ...dataTemplateRef(options) };
  return metal3("Metal3MachineTemplate", name, options, { template: { spec } });
}

export function metal3DataTemplate(name: string, options: Versioned = {}): KubeObject {
  return metal3("Metal3DataTemplate", name, options, { clusterName: "mgmt" });
}

export function metal3Machine(name: string, options: Cloned = {}): KubeObject {
  return cloneOf(options, metal3("Metal3Machine", name, options, dataTemplateRef(options)));
}

/** What holds a rendered data template in use. */
export function metal3Data(name: string, options: Uses = {}): KubeObject {
  return metal3("Metal3Data", name, options, { template: bareName(options) });
}

export function metal3DataClaim(name: string, options: Uses = {}): KubeObject {
  return metal3("Metal3DataClaim", name, options, { template: bareName(options) });
}

export function kubeadmConfigTemplate(name: string, { version = "v1beta1" }: Versioned = {}): KubeObject {
  return object(`KubeadmConfigTemplate.${BOOTSTRAP}/${version}`, name, { spec: { template: { spec: {} } } });
}

export function rke2ConfigTemplate(name: string, { version = "v1beta1" }: Versioned = {}): KubeObject {
  return object(`RKE2ConfigTemplate.${BOOTSTRAP}/${version}`, name, { spec: { template: { spec: {} } } });
}

export function kubeadmConfig(name: string, options: Cloned = {}): KubeObject {
  const { version = "v1beta1" } = options;
  return cloneOf(options, object(`KubeadmConfig.${BOOTSTRAP}/${version}`, name, { spec: {} }));
}

export function rke2Config(name: string, options: Cloned = {}): KubeObject {
  const { version = "v1beta1" } = options;
  return cloneOf(options, object(`RKE2Config.${BOOTSTRAP}/${version}`, name, { spec: {} }));
}

// What has happened to an object. Each returns a changed copy, so they nest: held(terminating(template)).

/** Its deletion was asked for, and something still holds it. */
export function terminating(one: KubeObject, at: Temporal.Instant = NOON): KubeObject {
  return withMetadata(one, { deletionTimestamp: at.toString({ smallestUnit: "second" }) });
}

/** With our hold. */
export function held(one: KubeObject): KubeObject {
  return finalizedBy(one, HOLD);
}

export function finalizedBy(one: KubeObject, finalizer: string): KubeObject {
  return withMetadata(one, { finalizers: [...(one.metadata.finalizers ?? []), finalizer] });
}

/** Its owner asked for its deletion, and a restore or a move lost the deletionTimestamp. */
export function retired(one: KubeObject, at: Temporal.Instant = NOON): KubeObject {
  const marked = annotated(one, { [RETIRED_AT]: at.toString({ smallestUnit: "second" }) });
  return labelled(marked, { [RETIRED_LABEL]: "true" });
}

export function inNamespace(one: KubeObject, namespace: string): KubeObject {
  return withMetadata(one, { namespace, uid: uidFor(one.kind, namespace, one.metadata.name) });
}

/** With an ownerReference beside those it has. */
export function ownedBy(one: KubeObject, owner: KubeObject, controller = false): KubeObject {
  const { apiVersion, kind, metadata } = owner;
  const reference = { apiVersion, kind, name: metadata.name, ...(metadata.uid && { uid: metadata.uid }), controller };
  return withMetadata(one, { ownerReferences: [...(one.metadata.ownerReferences ?? []), reference] });
}

export function labelled(one: KubeObject, labels: Readonly<Record<string, string>>): KubeObject {
  return withMetadata(one, { labels: { ...one.metadata.labels, ...labels } });
}

export function annotated(one: KubeObject, annotations: Readonly<Record<string, string>>): KubeObject {
  return withMetadata(one, { annotations: { ...one.metadata.annotations, ...annotations } });
}

export function withUid(one: KubeObject, uid: string): KubeObject {
  return withMetadata(one, { uid });
}

/** Cloned from `template`, as `external.GenerateTemplate` of CAPI notes it. */
export function clonedFrom(one: KubeObject, template: KubeObject): KubeObject {
  return annotated(one, {
    [CLONED_FROM_NAME]: template.metadata.name,
    [CLONED_FROM_GROUPKIND]: groupKindText(keyOf(template)),
  });
}

function withMetadata(one: KubeObject, metadata: Partial<KubeObject["metadata"]>): KubeObject {
  return { ...one, metadata: { ...one.metadata, ...metadata } };
}

function uidFor(kind: string, namespace: string, name: string): string {
  return ["uid", kind.toLowerCase(), namespace, name].filter(Boolean).join("-");
}

function listOf(uses: Uses["uses"] = []): readonly KubeObject[] {
  return "kind" in uses ? [uses as KubeObject] : (uses as readonly KubeObject[]);
}

function partOf(target: KubeObject): "bootstrap" | "infrastructure" {
  return groupOf(target.apiVersion) === BOOTSTRAP ? "bootstrap" : "infrastructure";
}

function machineRefs(uses: Uses["uses"], version: Version): Fields {
  const refs = listOf(uses).map((one) => {
    const ref = referenceTo(one, version);
    return partOf(one) === "bootstrap" ? ["bootstrap", { configRef: ref }] : ["infrastructureRef", ref];
  });
  return Object.fromEntries(refs);
}

function workers(kind: string, name: string, options: Uses): KubeObject {
  const { version = "v1beta1", uses, clusterName = "mgmt" } = options;
  const template = { spec: { clusterName, ...machineRefs(uses, version) } };
  return object(`${kind}.${CORE}/${version}`, name, { spec: { clusterName, template } });
}

function controlPlane(kind: string, name: string, { version = "v1beta1", uses }: Uses): KubeObject {
  const refs = machineRefs(uses, version);
  const machineTemplate = version === "v1beta1" ? refs : { spec: refs };
  return object(`${kind}.${CONTROL_PLANE}/${version}`, name, { spec: { replicas: 3, machineTemplate } });
}

function metal3(kind: string, name: string, { version = "v1beta1" }: Versioned, spec: Fields): KubeObject {
  return object(`${kind}.${INFRASTRUCTURE}/${version}`, name, { spec });
}

function dataTemplateRef(options: Uses): Fields {
  return options.uses === undefined ? {} : { dataTemplate: bareName(options) };
}

// Metal3 names its own kinds by name alone, in both versions.
function bareName({ uses }: Uses): Fields {
  return { name: listOf(uses)[0]?.metadata.name };
}

function cloneOf({ clonedFrom: template }: Cloned, clone: KubeObject): KubeObject {
  return template === undefined ? clone : clonedFrom(clone, template);
}
