import { hostFrom, indexHosts, isHost } from "../../functions/rewrite-urls/hosts.ts";
import { handleWith } from "../../functions/rewrite-urls/index.ts";
import type { Rules } from "../../functions/rewrite-urls/rules.ts";
import { parseRules } from "../../functions/rewrite-urls/rules-file.ts";
import type { Handle } from "../../shared/acts/context.ts";
import { mergePatch } from "../../shared/cluster/snapshot/merge-patch.ts";
import { factsFrom } from "../../shared/look/facts.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { namespace, object } from "../build/objects.ts";

export const OLD = "http://10.10.10.17";
export const NEW = "https://172.20.0.10/images";
export const IMAGE_URL = "spec.template.spec.image.url";

/** The rule of the stories, without asking the new URL. */
export const RULES = rulesOf({});

export function rulesOf(fields: Readonly<Record<string, unknown>>, from = `${OLD}/`, to = `${NEW}/`): Rules {
  return parseRules(JSON.stringify({ rules: [{ from, to, check: "none", ...fields }] }), "rules.yaml");
}

/** The function under these rules. */
export function under(rules: Rules): Handle {
  return (context, change) => handleWith(context, change, async () => rules);
}

/** A copy of `one` with `fields` merged into its spec. */
export function withSpec(one: KubeObject, fields: Readonly<Record<string, unknown>>): KubeObject {
  return mergePatch(one, { spec: fields }) as KubeObject;
}

export function withStatus(one: KubeObject, status: Readonly<Record<string, unknown>>): KubeObject {
  return { ...one, status };
}

/** A Metal3MachineTemplate's spec with this image; `template` is false for a Metal3Machine's. */
export function image(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { template: { spec: { image: fields } } };
}

export function bareMetalHost(name: string, fields: Readonly<Record<string, unknown>> = {}): KubeObject {
  return object("BareMetalHost.metal3.io/v1alpha1", name, { spec: { online: true }, ...fields });
}

/** Facts of a cluster that holds these and could read everything but `unread`. */
export function factsOf(objects: readonly KubeObject[], ...unread: readonly { group: string; kind: string }[]) {
  const failed = unread.map((kind) => ({ ...kind, reason: "not allowed" }));
  const hosts = indexHosts(objects.filter(isHost).map(hostFrom));
  return { ...factsFrom(objects, [namespace()], failed), hosts };
}
