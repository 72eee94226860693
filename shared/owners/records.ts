import { type Cluster, ClusterError } from "../cluster/cluster.ts";
import type { KubeObject } from "../objects/object.ts";
import { type Answer, type Lists, unknown } from "./answer.ts";
import { readApplication } from "./argocd-application.ts";
import { readHelmRelease, readKustomization } from "./flux-inventory.ts";
import { readRelease } from "./helm-release.ts";
import type { Owner } from "./owner.ts";

/** Asks the owner's record about a template. A record that cannot be read answers "unknown", with the reason. */
export type Records = (owner: Owner, template: KubeObject) => Promise<Answer>;

const READERS: Readonly<Record<Owner["kind"], (cluster: Cluster, owner: Owner) => Promise<Lists>>> = {
  Release: readRelease,
  HelmRelease: readHelmRelease,
  Kustomization: readKustomization,
  Application: readApplication,
};

/** One look at owners' records: each is read once, when it is first asked about. */
export function openRecords(cluster: Cluster): Records {
  const opened = new Map<string, Promise<Lists>>();
  return async (owner, template) => {
    const id = [owner.kind, owner.namespace ?? "", owner.name].join("/");
    const record = opened.get(id) ?? read(cluster, owner);
    opened.set(id, record);
    return (await record)(template);
  };
}

async function read(cluster: Cluster, owner: Owner): Promise<Lists> {
  try {
    return await READERS[owner.kind](cluster, owner);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return unknown(error.failure);
  }
}
