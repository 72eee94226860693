import type { KubeObject, ObjectKey } from "../../shared/objects/object.ts";

/** Whether a secret is there, told without ever reading its data. */
export type SecretState = "there" | "missing" | "unreadable";

/** A Machine with what its references lead to. */
export interface MachineFacts {
  readonly machine: KubeObject;
  /** Its KubeadmConfig; undefined where the reference names none or none of another kind, or nothing stands there. */
  readonly config: KubeObject | undefined;
  /** Its infrastructure machine; `unreadable` where it may not be read. */
  readonly infrastructure: KubeObject | "unreadable" | undefined;
}

export interface TemplateFacts {
  readonly key: ObjectKey;
  readonly state: "there" | "missing" | "unreadable";
}

/** One look at everything that bears on the adoption of one cluster's machines. */
export interface AdoptionFacts {
  readonly controlPlane: KubeObject;
  /** Undefined where no Cluster is found, or it is gone. */
  readonly cluster: KubeObject | undefined;
  readonly clusterName: string;
  /** Every Machine of that cluster, workers too; the infrastructure of its control-plane machines alone. */
  readonly machines: readonly MachineFacts[];
  /** The infrastructure template the control plane names; undefined where it names none. */
  readonly template: TemplateFacts | undefined;
  /** By name. */
  readonly secrets: ReadonlyMap<string, SecretState>;
  /** An installed Cluster API older than the rules of the forecast; an unknown one is none. */
  readonly isCapiTooOld: boolean;
  /** Who needs the Role where secrets cannot be read, as `namespace:name`. */
  readonly serviceAccount: string;
}

/** Something that speaks against an adoption, or that a person should know before it. */
export interface Reason {
  /** One stable word or phrase in kebab-case. */
  readonly reason: string;
  readonly message: string;
  readonly object?: ObjectKey;
}

/** A field in which a machine is not what the control plane would make; `null` where a value is absent. */
export interface Difference {
  /** The Machine's name. */
  readonly machine: string;
  readonly path: string;
  readonly machineValue: unknown;
  readonly wantedValue: unknown;
}
