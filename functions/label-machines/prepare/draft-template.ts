import { annotation, CLONED_FROM_GROUPKIND, CLONED_FROM_NAME, CLUSTER_NAME } from "../../../shared/marks/marks.ts";
import { groupOf, type KubeObject, type OwnerReference, parseGroupKind } from "../../../shared/objects/object.ts";
import type { Difference } from "../facts.ts";
import { differencesBetween } from "../forecast/differences.ts";
import { recordAt } from "../forecast/fields.ts";
import type { Member } from "../survey/members.ts";
import type { Ref } from "../survey/read.ts";
import { templateSpecOf } from "./per-machine-fields.ts";

/** An infrastructure machine with the name of its Machine. */
export interface InfrastructureOf {
  readonly machine: string;
  readonly infrastructure: KubeObject;
}

/** The infrastructure machines of the members that have one that can be read. */
export function infrastructureOf(members: readonly Member[]): readonly InfrastructureOf[] {
  return members.flatMap(({ machine, infrastructure }) =>
    typeof infrastructure === "object" ? [{ machine: machine.metadata.name, infrastructure }] : [],
  );
}

/** The template that a control plane has to name, and whether machines were cloned from it. */
export interface NamedTemplate {
  readonly ref: Ref;
  readonly isSource: boolean;
}

/**
 * The template that the control plane has to name so that the machines match it: the one they were cloned from, else
 * one of the name given. Machines cloned from several show up in the forecast.
 */
export function templateNamed(all: readonly InfrastructureOf[], otherwise: string): NamedTemplate | undefined {
  for (const { infrastructure } of all) {
    const name = annotation(infrastructure, CLONED_FROM_NAME);
    const kind = parseGroupKind(annotation(infrastructure, CLONED_FROM_GROUPKIND) ?? "");
    if (name !== undefined && kind !== undefined) return { ref: { ...kind, name }, isSource: true };
  }
  const [first] = all;
  if (first === undefined) return undefined;
  const { apiVersion, kind } = first.infrastructure;
  return { ref: { group: groupOf(apiVersion), kind: `${kind}Template`, name: otherwise }, isSource: false };
}

/** A template that makes machines like the first one. */
export function draftTemplate(
  { infrastructure }: InfrastructureOf,
  { kind, name }: Ref,
  clusterName: string,
  owner: OwnerReference,
): KubeObject {
  const { namespace = "" } = infrastructure.metadata;
  return {
    apiVersion: infrastructure.apiVersion,
    kind,
    metadata: { name, namespace, labels: { [CLUSTER_NAME]: clusterName }, ownerReferences: [owner] },
    spec: { template: { spec: specOf(infrastructure) } },
  };
}

/** The fields in which the machines differ from the first one, those left out that belong to one machine alone. */
export function templateDifferences(all: readonly InfrastructureOf[]): readonly Difference[] {
  const [first] = all;
  if (first === undefined) return [];
  const wanted = { kind: first.infrastructure.kind, spec: specOf(first.infrastructure) };
  return all.flatMap(({ machine, infrastructure }) => [
    ...differencesBetween(infrastructure.kind, wanted.kind, "kind").map((one) => ({ machine, ...one })),
    ...differencesBetween(specOf(infrastructure), wanted.spec, "spec").map((one) => ({ machine, ...one })),
  ]);
}

function specOf(infrastructure: KubeObject) {
  return templateSpecOf(
    groupOf(infrastructure.apiVersion),
    infrastructure.kind,
    recordAt(infrastructure, "spec") ?? {},
  );
}
