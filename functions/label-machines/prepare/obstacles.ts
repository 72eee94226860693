import { isDeepStrictEqual } from "node:util";
import { type KubeObject, keyOf } from "../../../shared/objects/object.ts";
import type { Reason } from "../facts.ts";
import { recordAt } from "../forecast/fields.ts";
import { isOptedIn } from "../marks.ts";
import { membersOf } from "../survey/members.ts";
import { isMeant } from "../survey/read.ts";
import { readClusterConfiguration, unknownConfiguration, unreadableConfiguration } from "./cluster-configuration.ts";
import { ownerOf } from "./draft.ts";
import { draftConfigSpec } from "./draft-config.ts";
import { draftTemplate, infrastructureOf } from "./draft-template.ts";
import type { PreparationFacts } from "./facts.ts";

/** What keeps a control plane from being written at all, before any check of an adoption. */
export function obstacles(facts: PreparationFacts): readonly Reason[] {
  return [...served(facts), ...samples(facts), ...names(facts)];
}

function served({ servesV1beta2, adoption }: PreparationFacts): readonly Reason[] {
  if (servesV1beta2 || adoption.isCapiTooOld) return [];
  const message = "KubeadmControlPlane is not served as v1beta2, so the installed Cluster API is older than 1.12.";
  return [{ reason: "capi-too-old", message }];
}

/** What the parts of the control plane would be made from, and is not there. */
function samples({ cluster, adoption, configMap }: PreparationFacts): readonly Reason[] {
  const { clusterName } = adoption;
  const members = membersOf(adoption);
  if (members.length === 0) {
    const message = `Cluster ${clusterName} has no Machine that looks like a control-plane member.`;
    return [{ reason: "no-machines", message, object: keyOf(cluster) }];
  }
  const reasons = members
    .filter(({ infrastructure }) => typeof infrastructure !== "object")
    .map(({ machine }): Reason => {
      const message = `The infrastructure machine of Machine ${machine.metadata.name} does not exist or cannot be read.`;
      return { reason: "infrastructure-machine-missing", message, object: keyOf(machine) };
    });
  const configs = members.flatMap(({ config }) => config ?? []);
  const isKnown = draftConfigSpec(configs, readClusterConfiguration(configMap)) !== undefined;
  if (isKnown) return reasons;
  const { namespace = "" } = cluster.metadata;
  const unknown = [...reasons, unknownConfiguration(clusterName, namespace)];
  if (configMap !== "unreadable") return unknown;
  return [...unknown, unreadableConfiguration(clusterName, namespace, adoption.serviceAccount)];
}

/** What stands under a name that is about to be written, and was not left behind by a former try. */
function names({ cluster, adoption, standing, template }: PreparationFacts): readonly Reason[] {
  const reasons: Reason[] = [];
  const isOurs = standing?.metadata.ownerReferences?.some((owner) => isMeant(owner, cluster)) && isOptedIn(standing);
  if (standing !== undefined && !isOurs) reasons.push(taken(standing));
  const [sample] = infrastructureOf(membersOf(adoption));
  if (template?.standing === undefined || template.isSource || sample === undefined) return reasons;
  const ours = draftTemplate(sample, template.ref, adoption.clusterName, ownerOf(cluster));
  const isSame = isDeepStrictEqual(
    recordAt(template.standing, "spec.template.spec"),
    recordAt(ours, "spec.template.spec"),
  );
  return isSame ? reasons : [...reasons, taken(template.standing)];
}

function taken(standing: KubeObject): Reason {
  const { kind, name } = keyOf(standing);
  const message = `${kind} ${name} stands already and was not written for this adoption.`;
  return { reason: "name-taken", message, object: keyOf(standing) };
}
