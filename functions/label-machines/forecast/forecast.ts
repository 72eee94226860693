import { annotation, CLONED_FROM_GROUPKIND, CLONED_FROM_NAME, instant } from "../../../shared/marks/marks.ts";
import { groupKindText, type KubeObject } from "../../../shared/objects/object.ts";
import type { AdoptionFacts, Difference } from "../facts.ts";
import { type Member, membersOf } from "../survey/members.ts";
import { numberAt, templateRefOf, textAt } from "../survey/read.ts";
import { configDifferences } from "./compare-config.ts";
import type { FieldDifference } from "./differences.ts";

/**
 * What the control plane would roll out right after it adopted the machines, machine by machine and field by field, by
 * the rules of CAPI 1.12 and later (controlplane/kubeadm/pkg/filters.go, util/collections/machine_filters.go). What
 * CAPI takes for a match where something is missing (a config, an infra machine, a cloned-from annotation) is one here.
 */
export function forecast(facts: AdoptionFacts, now: Temporal.Instant): readonly Difference[] {
  return membersOf(facts)
    .filter(({ control }) => control !== "foreign")
    .flatMap((member) =>
      differencesOf(member, facts.controlPlane, now).map((one) => ({ machine: member.machine.metadata.name, ...one })),
    );
}

function differencesOf(member: Member, controlPlane: KubeObject, now: Temporal.Instant): readonly FieldDifference[] {
  const { machine, config, infrastructure } = member;
  return [
    ...rolloutBefore(machine, controlPlane, now),
    ...rolloutAfter(machine, controlPlane, now),
    ...versions(machine, controlPlane),
    ...(config === undefined ? [] : configDifferences(config, controlPlane)),
    ...(typeof infrastructure === "object" ? clonedFrom(infrastructure, controlPlane) : []),
  ];
}

function rolloutBefore(
  machine: KubeObject,
  controlPlane: KubeObject,
  now: Temporal.Instant,
): readonly FieldDifference[] {
  const days = numberAt(
    controlPlane,
    "spec.rollout.before.certificatesExpiryDays",
    "spec.rolloutBefore.certificatesExpiryDays",
  );
  const path = "status.certificatesExpiryDate";
  const expiry = instant(textAt(machine, path));
  if (!days || expiry === undefined || !isBefore(expiry, now.add({ hours: 24 * days }))) return [];
  return [{ path, machineValue: expiry.toString(), wantedValue: `more than ${days} days from now` }];
}

function rolloutAfter(
  machine: KubeObject,
  controlPlane: KubeObject,
  now: Temporal.Instant,
): readonly FieldDifference[] {
  const after = instant(textAt(controlPlane, "spec.rollout.after", "spec.rolloutAfter"));
  if (after === undefined || !isBefore(after, now)) return [];
  const born = machine.metadata.creationTimestamp ?? null;
  const bornAt = instant(born);
  if (bornAt !== undefined && !isBefore(bornAt, after)) return [];
  return [{ path: "metadata.creationTimestamp", machineValue: born, wantedValue: `after ${after.toString()}` }];
}

function versions(machine: KubeObject, controlPlane: KubeObject): readonly FieldDifference[] {
  const path = "spec.version";
  const machineValue = textAt(machine, path) ?? null;
  const wantedValue = textAt(controlPlane, path) ?? null;
  return machineValue === wantedValue ? [] : [{ path, machineValue, wantedValue }];
}

function clonedFrom(infrastructure: KubeObject, controlPlane: KubeObject): readonly FieldDifference[] {
  const name = annotation(infrastructure, CLONED_FROM_NAME);
  const groupKind = annotation(infrastructure, CLONED_FROM_GROUPKIND);
  const ref = templateRefOf(controlPlane);
  if (name === undefined || groupKind === undefined || ref === undefined) return [];
  const pairs = [
    [CLONED_FROM_NAME, name, ref.name],
    [CLONED_FROM_GROUPKIND, groupKind, groupKindText(ref)],
  ] as const;
  return pairs
    .filter(([, machineValue, wantedValue]) => machineValue !== wantedValue)
    .map(([key, machineValue, wantedValue]) => ({ path: `metadata.annotations[${key}]`, machineValue, wantedValue }));
}

function isBefore(a: Temporal.Instant, b: Temporal.Instant): boolean {
  return Temporal.Instant.compare(a, b) < 0;
}
