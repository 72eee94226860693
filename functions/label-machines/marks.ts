import { annotation } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";

/** The name of this function, on the command line, in logs and in replies. */
export const CONCERN = "label-machines";

/** A person opts a control plane, or a Cluster without one, in. */
export const ADOPT = "capi-caretaker.io/adopt";
/** A person accepts the rollout that the forecast shows. */
export const ALLOW_ROLLOUT = "capi-caretaker.io/allow-rollout";
/** The first reason against the adoption, while there is one. */
export const ADOPTION_REFUSED = "capi-caretaker.io/adoption-refused";
/** What this function is about to label, written before the first label so that only its own are ever taken off. */
export const LABELLING = "capi-caretaker.io/labelling";

/** Makes a Machine, and its KubeadmConfig, visible to a KubeadmControlPlane; the value means nothing. */
export const CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane";

export function isOptedIn(object: KubeObject): boolean {
  return annotation(object, ADOPT) === "true";
}

export function allowsRollout(object: KubeObject): boolean {
  return annotation(object, ALLOW_ROLLOUT) === "true";
}

/** The names of the Machines and KubeadmConfigs that this function gave the label to, or was about to. */
export interface Labelling {
  readonly machines: readonly string[];
  readonly configs: readonly string[];
}

/** Reads the mark back; nothing where there is none, or where a person wrote something else into it. */
export function labellingOf(controlPlane: KubeObject): Labelling | undefined {
  try {
    const read: unknown = JSON.parse(annotation(controlPlane, LABELLING) ?? "null");
    if (typeof read !== "object" || read === null) return undefined;
    const names = (field: string): readonly string[] => {
      const list: unknown = Reflect.get(read, field);
      return Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
    };
    return { machines: names("machines"), configs: names("configs") };
  } catch {
    return undefined;
  }
}
