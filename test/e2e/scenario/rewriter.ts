import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { type Adapter, startAdapter } from "../harness/adapter.ts";
import type { Api } from "../harness/api-types.ts";
import { bootstrapVersion, coreVersion } from "../harness/capi-objects.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import type { BetaVersion } from "../harness/crds.ts";
import { type ServedFunction, startFunction } from "../harness/functions.ts";
import { type Fields, type KubeObject, valueAt } from "../harness/objects.ts";
import { type Filter, type Relay, startRelay } from "../harness/relay.ts";
import { sweepOf } from "./caretakers.ts";

/** The project's marks, spelled out here again so that a test notices when one changes. */
export const rewrittenFrom = "capi-caretaker.io/rewritten-from";
export const rewriteContested = "capi-caretaker.io/rewrite-contested";
export const templateUrl = "spec.template.spec.image.url";

export interface RuleEntry {
  from: string;
  to: string;
  namespaces?: readonly string[];
  check?: "head" | "warn" | "none";
}

/** rewrite-urls with an event source before it, as it is installed. */
export interface Rewriter {
  relay: Relay;
  adapter: Adapter;
  served: ServedFunction;
  /** The path of its rules file. */
  rulesFile: string;
  /** What the PingSource does every ten minutes; throws when the function does not answer with success. */
  sweep(): Promise<void>;
  /** Waits until every event so far is handled. */
  idle(): Promise<void>;
}

/** The filter of rewrite-urls' Trigger. */
const toRewrite: Filter = ({ attributes: { type = "", kind = "" } }) => {
  const action = type.slice(type.lastIndexOf(".") + 1);
  if (kind.endsWith("Template")) return action !== "delete";
  return (kind === "Metal3Machine" && action === "add") || (kind === "Cluster" && action === "update");
};

/** Starts the function with these rules and, before it, the event source and a relay with the filter of its Trigger. */
export async function startRewriter(
  controlPlane: ControlPlane,
  rules: readonly RuleEntry[],
  { metal3 = "v1beta1" }: { metal3?: BetaVersion } = {},
): Promise<Rewriter> {
  const rulesFile = join(controlPlane.folder, "rewrite-rules.yaml");
  writeFileSync(rulesFile, stringify({ rules }));
  const served = await startFunction("rewrite-urls", controlPlane, { env: { REWRITE_RULES: rulesFile } });
  const relay = await startRelay();
  relay.deliverTo("rewrite-urls", served.url, toRewrite);
  const infrastructure = `infrastructure.cluster.x-k8s.io/${metal3}`;
  const adapter = await startAdapter(controlPlane, relay.url, [
    { apiVersion: coreVersion, kind: "Cluster" },
    { apiVersion: bootstrapVersion, kind: "KubeadmConfigTemplate" },
    { apiVersion: infrastructure, kind: "Metal3MachineTemplate" },
    { apiVersion: infrastructure, kind: "Metal3Machine" },
  ]);
  return {
    relay,
    adapter,
    served,
    rulesFile,
    idle: () => relay.idle(),
    async sweep() {
      await sweepOf(served);
    },
  };
}

/** The image URL in a Metal3MachineTemplate. */
export function imageUrlOf(template: KubeObject | undefined): unknown {
  return valueAt(template, "spec", "template", "spec", "image", "url");
}

/** One JSON mark of an object; undefined where it has none. */
export function jsonMark(object: KubeObject | undefined, mark: string): Fields | undefined {
  const text = object?.metadata.annotations?.[mark];
  return text === undefined ? undefined : (JSON.parse(text) as Fields);
}

/** The managers that own a template's image URL, each with its operation. */
export function ownersOfImageUrl({ metadata }: KubeObject): string[] {
  const path = ["f:spec", "f:template", "f:spec", "f:image", "f:url"];
  return (metadata.managedFields ?? []).flatMap((entry) =>
    valueAt(entry, "fieldsV1", ...path) === undefined ? [] : [`${String(entry.manager)} ${String(entry.operation)}`],
  );
}

/** The notes of the Events with this reason on an object. */
export async function notesOn(api: Api, { metadata, kind }: KubeObject, reason: string): Promise<string[]> {
  const { namespace = "", name } = metadata;
  const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event", namespace });
  const meant = events.filter(
    (event) =>
      event.reason === reason &&
      valueAt(event, "regarding", "name") === name &&
      valueAt(event, "regarding", "kind") === kind,
  );
  return meant.map(({ note }) => String(note));
}
