import { BOOTSTRAP, CONTROL_PLANE, INFRASTRUCTURE, isTemplateKind } from "../../shared/objects/kinds.ts";
import { type GroupKind, groupKindText } from "../../shared/objects/object.ts";
import type { FoundString } from "./strings.ts";

/**
 * One place where a kind can hold a URL. `url` is a field that may be one whole URL; `text` is a script, a file or
 * another text in which a URL is only reported.
 */
export interface Carrier {
  readonly kind: GroupKind;
  /** Dotted; `[]` stands for every item of a list, a last step `**` for every string below. */
  readonly path: string;
  readonly holds: "url" | "text";
}

export const METAL3_MACHINE: GroupKind = { group: INFRASTRUCTURE, kind: "Metal3Machine" };
const METAL3_MACHINE_TEMPLATE: GroupKind = { group: INFRASTRUCTURE, kind: "Metal3MachineTemplate" };
const KUBEADM_CONFIG_TEMPLATE: GroupKind = { group: BOOTSTRAP, kind: "KubeadmConfigTemplate" };
const RKE2_CONFIG_TEMPLATE: GroupKind = { group: BOOTSTRAP, kind: "RKE2ConfigTemplate" };

function rows(kind: GroupKind, holds: Carrier["holds"], paths: readonly string[]): readonly Carrier[] {
  return paths.map((path) => ({ kind, path, holds }));
}

/**
 * Where URLs live in the kinds whose spec may change in place, in v1beta1 and v1beta2: the paths are the same in both,
 * only what stands beside them differs (`format` and `diskFormat`). An earlier row wins over a later one.
 *
 * Sources: cluster-api-provider-metal3 v1.10 and v1.13 (its webhook compares nothing), cluster-api v1.14 and
 * cluster-api-provider-rke2 v0.25 (theirs only validate); no rollout compares the content of any of them.
 */
export const CARRIERS: readonly Carrier[] = [
  ...rows(METAL3_MACHINE_TEMPLATE, "url", ["spec.template.spec.image.url", "spec.template.spec.image.checksum"]),
  ...rows(METAL3_MACHINE, "url", ["spec.image.url", "spec.image.checksum"]),
  ...rows(KUBEADM_CONFIG_TEMPLATE, "text", [
    "spec.template.spec.files[].content",
    "spec.template.spec.bootCommands[]",
    "spec.template.spec.preKubeadmCommands[]",
    "spec.template.spec.postKubeadmCommands[]",
    "spec.template.spec.ignition.containerLinuxConfig.additionalConfig",
  ]),
  ...rows(KUBEADM_CONFIG_TEMPLATE, "url", ["spec.template.spec.**"]),
  ...rows(RKE2_CONFIG_TEMPLATE, "text", [
    "spec.template.spec.files[].content",
    "spec.template.spec.preRKE2Commands[]",
    "spec.template.spec.postRKE2Commands[]",
    "spec.template.spec.agentConfig.additionalUserData.config",
  ]),
  ...rows(RKE2_CONFIG_TEMPLATE, "url", ["spec.template.spec.**"]),
];

/** Whether objects of this kind are looked at: templates, control planes, and Metal3's machines. */
export function canCarry(kind: GroupKind): boolean {
  return isTemplateKind(kind) || isControlPlane(kind) || isSame(kind, METAL3_MACHINE);
}

/** A control plane compares its inline config with its machines, so that any change of it rolls them. */
export function isControlPlane(kind: GroupKind): boolean {
  return kind.group === CONTROL_PLANE && !isTemplateKind(kind);
}

const BY_KIND: ReadonlyMap<string, readonly Carrier[]> = Map.groupBy(CARRIERS, ({ kind }) => groupKindText(kind));

/** The rows of a kind; none where its spec may not change in place (the CAPI contract asks that of templates). */
export function carriersOf(kind: GroupKind): readonly Carrier[] {
  return BY_KIND.get(groupKindText(kind)) ?? [];
}

/** Whether a row means every string below its path. */
export function isOpen({ path }: Carrier): boolean {
  return path.endsWith(".**");
}

/** Whether a string stands at the place of a row. */
export function isAt({ steps }: FoundString, row: Carrier): boolean {
  const fixed = STEPS.get(row) ?? stepsOf(row);
  if (isOpen(row) ? steps.length <= fixed.length : steps.length !== fixed.length) return false;
  return fixed.every((step, index) => (step === "[]" ? typeof steps[index] === "number" : step === steps[index]));
}

const STEPS: ReadonlyMap<Carrier, readonly string[]> = new Map(CARRIERS.map((row) => [row, stepsOf(row)]));

/** The steps of a row that are the same for all its places. */
function stepsOf(row: Carrier): readonly string[] {
  const pattern = row.path.split(".").flatMap((step) => (step.endsWith("[]") ? [step.slice(0, -2), "[]"] : [step]));
  return isOpen(row) ? pattern.slice(0, -1) : pattern;
}

function isSame(a: GroupKind, b: GroupKind): boolean {
  return a.group === b.group && a.kind === b.kind;
}
