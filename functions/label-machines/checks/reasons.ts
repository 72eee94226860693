import { keyOf } from "../../../shared/objects/object.ts";
import { valuesAt } from "../../../shared/objects/path.ts";
import type { AdoptionFacts, Reason } from "../facts.ts";
import { kubeadmSpecOf } from "../forecast/kubeadm-spec.ts";
import { membersOf } from "../survey/members.ts";
import { numberAt, textAt } from "../survey/read.ts";
import { clusterReasons } from "./cluster.ts";
import { machineReasons } from "./machines.ts";
import { secretReasons } from "./secrets.ts";
import { versionReasons, versionWarnings } from "./versions.ts";

/** Everything that fails, from all checks at once. */
export function failedChecks(facts: AdoptionFacts): readonly Reason[] {
  return [...clusterReasons(facts), ...machineReasons(facts), ...versionReasons(facts), ...secretReasons(facts)];
}

/** What a person should know, and what stops nothing. */
export function warningsOf(facts: AdoptionFacts): readonly Reason[] {
  return [...versionWarnings(facts), ...evenNumber(facts), ...unknownExpiry(facts)];
}

function evenNumber(facts: AdoptionFacts): readonly Reason[] {
  const { length } = membersOf(facts);
  if (length % 2 === 1 || hasExternalEtcd(facts)) return [];
  const message = `${length} control-plane machines is an even number: etcd survives no more failures than with one fewer.`;
  return [{ reason: "even-number", message, object: keyOf(facts.controlPlane) }];
}

function hasExternalEtcd({ controlPlane }: AdoptionFacts): boolean {
  return valuesAt(kubeadmSpecOf(controlPlane), "clusterConfiguration.etcd.external").length > 0;
}

function unknownExpiry(facts: AdoptionFacts): readonly Reason[] {
  const { controlPlane } = facts;
  const paths = ["spec.rollout.before.certificatesExpiryDays", "spec.rolloutBefore.certificatesExpiryDays"];
  if (numberAt(controlPlane, ...paths) === undefined) return [];
  return membersOf(facts)
    .filter(({ machine }) => textAt(machine, "status.certificatesExpiryDate") === undefined)
    .map(({ machine }) => ({
      reason: "certificate-expiry-unknown",
      message: `When the certificates of Machine ${machine.metadata.name} expire is known after the adoption only; rollout.before may then replace it.`,
      object: keyOf(machine),
    }));
}
