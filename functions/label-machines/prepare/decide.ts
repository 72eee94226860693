import { annotation, DELETE_FOR_MOVE } from "../../../shared/marks/marks.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../../shared/objects/object.ts";
import { warningsOf } from "../checks/reasons.ts";
import { against, type Refusal, refusal } from "../decide.ts";
import type { AdoptionFacts, Difference, Reason } from "../facts.ts";
import { recordAt } from "../forecast/fields.ts";
import { isOptedIn } from "../marks.ts";
import { membersOf } from "../survey/members.ts";
import { refAt, textAt } from "../survey/read.ts";
import { readClusterConfiguration } from "./cluster-configuration.ts";
import { draftControlPlane, ownerOf } from "./draft.ts";
import { draftConfigSpec } from "./draft-config.ts";
import { draftTemplate, infrastructureOf, templateDifferences } from "./draft-template.ts";
import type { PreparationFacts } from "./facts.ts";
import { obstacles } from "./obstacles.ts";

/** What becomes of a Cluster that a person marked for adoption. */
export type Preparation =
  | { readonly verdict: "leave"; readonly because: "not-opted-in" | "off-limits" | "has-control-plane" }
  | {
      readonly verdict: "label";
      readonly because: "control-plane-missing";
      readonly machines: readonly ObjectKey[];
      readonly warnings: readonly Reason[];
      readonly differences: readonly Difference[];
      /** Undefined where the one that the machines were cloned from stands. */
      readonly template: KubeObject | undefined;
      readonly controlPlane: KubeObject;
    }
  | Refusal;

interface Draft {
  readonly template: KubeObject | undefined;
  readonly controlPlane: KubeObject;
}

/** Decides about one Cluster; nothing is written unless the finished control plane would pass every check. */
export function decidePreparation(facts: PreparationFacts, now: Temporal.Instant): Preparation {
  const { cluster, adoption } = facts;
  if (!isOptedIn(cluster)) return { verdict: "leave", because: "not-opted-in" };
  if (annotation(cluster, DELETE_FOR_MOVE) !== undefined) return { verdict: "leave", because: "off-limits" };
  if (refAt(cluster, "spec.controlPlaneRef") !== undefined) return { verdict: "leave", because: "has-control-plane" };
  const members = membersOf(adoption);
  const draft = draftOf(facts);
  const needsTemplate = facts.template?.standing === undefined || !facts.template.isSource;
  const unlike = needsTemplate ? templateDifferences(infrastructureOf(members)) : [];
  const own = [...obstacles(facts), ...unlikeMachines(unlike)];
  if (draft === undefined) return refusal(own, unlike);
  const drafted = finished(facts, draft);
  const { reasons, differences } = against(drafted, now);
  const warnings = warningsOf(drafted);
  const stopping = warnings.filter(({ reason }) => reason === "even-number");
  const all = [...own, ...stopping, ...reasons];
  if (all.length > 0) return refusal(all, [...unlike, ...differences], warnings);
  const machines = members.map(({ machine }) => keyOf(machine));
  return { verdict: "label", because: "control-plane-missing", machines, warnings, differences, ...draft };
}

function draftOf({ cluster, adoption, template, configMap }: PreparationFacts): Draft | undefined {
  const members = membersOf(adoption);
  const configs = members.flatMap(({ config }) => config ?? []);
  const configSpec = draftConfigSpec(configs, readClusterConfiguration(configMap));
  const [sample] = infrastructureOf(members);
  if (configSpec === undefined || template === undefined || sample === undefined) return undefined;
  const version = members.map(({ machine }) => textAt(machine, "spec.version")).find((one) => one !== undefined) ?? "";
  const parts = { version, replicas: members.length, template: template.ref, configSpec };
  return {
    template: template.standing
      ? undefined
      : draftTemplate(sample, template.ref, adoption.clusterName, ownerOf(cluster)),
    controlPlane: draftControlPlane(cluster, parts),
  };
}

/** The facts as they would be once everything is written. */
function finished({ cluster, adoption, template }: PreparationFacts, { controlPlane }: Draft): AdoptionFacts {
  const { namespace = "" } = controlPlane.metadata;
  const { group: apiGroup, kind, name } = keyOf(controlPlane);
  const spec = { ...(recordAt(cluster, "spec") ?? {}), controlPlaneRef: { apiGroup, kind, name } };
  return {
    ...adoption,
    controlPlane,
    cluster: { ...cluster, spec },
    template: template && { key: { ...template.ref, namespace }, state: "there" },
  };
}

function unlikeMachines(differences: readonly Difference[]): readonly Reason[] {
  if (differences.length === 0) return [];
  const fields = differences.map(({ machine, path }) => `${machine} ${path}`).join(", ");
  return [{ reason: "machines-differ", message: `One template cannot make all of these machines: ${fields}.` }];
}
