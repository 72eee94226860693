import type { Api } from "../harness/api-types.ts";
import { bootstrapVersion } from "../harness/capi-objects.ts";
import { follow } from "../harness/follow.ts";
import { type Kind, type KubeObject, valueAt } from "../harness/objects.ts";
import { metal3Version } from "./caretakers.ts";
import { clonedFrom, templateKinds, titleOf } from "./workers.ts";

/** A template that is gone, with the machines and configs that were made from it and outlived it. */
export interface Departure {
  template: string;
  /** How many that were made from it went before it did. */
  before: number;
  /** How many went after it, or are still there. */
  after: number;
}

/** Writes down what disappears from a namespace, in the order in which the API server deleted it. */
export interface Journal {
  departures(): Departure[];
}

const cloneKinds: readonly Kind[] = [
  { apiVersion: metal3Version, kind: "Metal3Machine" },
  { apiVersion: bootstrapVersion, kind: "KubeadmConfig" },
];

/** The titles of the templates that a machine or config was made from. */
function sourcesOf(clone: KubeObject): string[] {
  const data = valueAt(clone, "spec", "dataTemplate", "name");
  const source = clonedFrom(clone);
  return [
    ...(source === undefined ? [] : [`${clone.kind}Template/${source}`]),
    ...(typeof data === "string" ? [`Metal3DataTemplate/${data}`] : []),
  ];
}

/** Starts a journal of a namespace. It ends at teardown. */
export function startJournal(api: Api, namespace: string): Journal {
  const clones = new Map<string, { sources: string[]; deletedAt: bigint | undefined }>();
  const templates = new Map<string, bigint>();
  // All kinds are in one etcd, so their revisions have one order; the clocks of events have none.
  const revision = ({ metadata }: KubeObject): bigint => BigInt(metadata.resourceVersion ?? "0");
  for (const kind of cloneKinds) {
    follow(api, { ...kind, namespace }, ({ type, object }) => {
      const deletedAt = type === "DELETED" ? revision(object) : undefined;
      clones.set(object.metadata.uid ?? "", { sources: sourcesOf(object), deletedAt });
    });
  }
  for (const kind of templateKinds) {
    follow(api, { ...kind, namespace }, ({ type, object }) => {
      if (type === "DELETED") templates.set(titleOf(object), revision(object));
      else templates.delete(titleOf(object));
    });
  }
  return {
    departures() {
      return [...templates].map(([template, goneAt]) => {
        const made = [...clones.values()].filter(({ sources }) => sources.includes(template));
        const before = made.filter(({ deletedAt }) => deletedAt !== undefined && deletedAt < goneAt).length;
        return { template, before, after: made.length - before };
      });
    },
  };
}
