import { keyOf, type ObjectKey } from "../../../shared/objects/object.ts";
import type { AdoptionFacts, Reason } from "../facts.ts";
import { type Member, membersOf } from "../survey/members.ts";
import { textAt } from "../survey/read.ts";
import { isWithinSkew, parseVersion, type Version } from "../survey/versions.ts";

/** Versions that keep the control plane from adopting anything at all, or that it cannot read. */
export function versionReasons(facts: AdoptionFacts): readonly Reason[] {
  const { controlPlane } = facts;
  const wanted = textAt(controlPlane, "spec.version");
  const parsed = parseVersion(wanted ?? "");
  if (parsed === undefined) return [unreadable("The control plane", wanted, keyOf(controlPlane)), ...eachOf(facts)];
  return eachOf(facts, parsed, wanted);
}

/** Versions that differ and are adopted all the same. */
export function versionWarnings(facts: AdoptionFacts): readonly Reason[] {
  const wanted = textAt(facts.controlPlane, "spec.version") ?? "";
  const parsed = parseVersion(wanted);
  return membersOf(facts).flatMap(({ machine }) => {
    const version = textAt(machine, "spec.version") ?? "";
    const own = parseVersion(version);
    if (version === wanted || parsed === undefined || own === undefined || !isWithinSkew(parsed, own)) return [];
    const message = `Machine ${machine.metadata.name} has version ${version}, the control plane ${wanted}: it is adopted, and then replaced.`;
    return [{ reason: "version-skew", message, object: keyOf(machine) }];
  });
}

function eachOf(facts: AdoptionFacts, wanted?: Version, text = ""): readonly Reason[] {
  return membersOf(facts).flatMap((member) => reasonOf(member, wanted, text));
}

function reasonOf({ machine }: Member, wanted: Version | undefined, text: string): readonly Reason[] {
  const object = keyOf(machine);
  const subject = `Machine ${machine.metadata.name}`;
  const version = textAt(machine, "spec.version");
  const own = parseVersion(version ?? "");
  if (own === undefined) return [unreadable(subject, version, object)];
  if (wanted === undefined || isWithinSkew(wanted, own)) return [];
  const message = `${subject} has version ${version}, more than one minor version from the control plane's ${text}; it would adopt none.`;
  return [{ reason: "version-skew-too-large", message, object }];
}

function unreadable(subject: string, version: string | undefined, object: ObjectKey): Reason {
  if (version === undefined) return { reason: "version-empty", message: `${subject} has no spec.version.`, object };
  return { reason: "version-unparsable", message: `${subject} has version ${version}, which is none.`, object };
}
