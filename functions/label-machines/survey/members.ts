import { CLUSTER_NAME, label } from "../../../shared/marks/marks.ts";
import type { KubeObject } from "../../../shared/objects/object.ts";
import { valuesAt } from "../../../shared/objects/path.ts";
import type { AdoptionFacts, MachineFacts } from "../facts.ts";
import { CONTROL_PLANE_LABEL } from "../marks.ts";
import { controllerOf, isMeant } from "./read.ts";

/** A control-plane machine, by its relation to the control plane that may adopt it. */
export interface Member extends MachineFacts {
  /** `own`: adopted. `free`: no controller, so it can be. `foreign`: something else manages it. */
  readonly control: "own" | "free" | "foreign";
}

/** What a control-plane member's KubeadmConfig has and a worker's has not. */
const CONTROL_PLANE_FIELDS = ["spec.initConfiguration", "spec.joinConfiguration.controlPlane"];
/** Some worker templates carry one too, so beside a controller it says nothing. */
const SHARED_FIELD = "spec.clusterConfiguration";

/** The control-plane machines of the cluster: those labelled, those adopted, and those whose config shows one. */
export function membersOf({ controlPlane, machines }: AdoptionFacts): readonly Member[] {
  return machines
    .map((facts): Member => ({ ...facts, control: controlOf(facts.machine, controlPlane) }))
    .filter(({ machine, config, control }) => {
      if (control === "own" || isLabelled(machine)) return true;
      const telling = control === "free" ? [...CONTROL_PLANE_FIELDS, SHARED_FIELD] : CONTROL_PLANE_FIELDS;
      return config !== undefined && telling.some((path) => valuesAt(config, path).length > 0);
    });
}

/** Whether a control plane sees this Machine or KubeadmConfig; the label's value does not matter. */
export function isLabelled(object: KubeObject): boolean {
  return label(object, CONTROL_PLANE_LABEL) !== undefined;
}

/** Whether nothing is left to label on a member: the Machine with its cluster's name, and its KubeadmConfig. */
export function isDone({ machine, config, control }: Member, clusterName: string): boolean {
  if (control === "own") return true;
  const isSeen = isLabelled(machine) && label(machine, CLUSTER_NAME) === clusterName;
  return isSeen && (config === undefined || isLabelled(config));
}

function controlOf(machine: KubeObject, controlPlane: KubeObject): Member["control"] {
  const controller = controllerOf(machine);
  if (controller === undefined) return "free";
  return isMeant(controller, controlPlane) ? "own" : "foreign";
}
