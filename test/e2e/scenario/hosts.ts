import { ApiError } from "../harness/api.ts";
import type { Api } from "../harness/api-types.ts";
import { type Following, follow } from "../harness/follow.ts";
import type { Kind, KubeObject } from "../harness/objects.ts";
import { isInTheMaking } from "../harness/stand-in-machines.ts";
import { claim, claimed, hostKind, release } from "./host-claims.ts";
import { type HostLog, imageFetched, type Surroundings, turn } from "./host-images.ts";
import { clonedFrom } from "./workers.ts";

/** Stands where Metal3's host choice and the baremetal-operator stand: hosts are claimed and fetch their image. */
export interface Hosts {
  log: HostLog[];
  errors: unknown[];
  /** Takes the host back from a machine that is being deleted; for `StandInOptions.releaseHost`. */
  release(machine: KubeObject): Promise<void>;
}

/** A host that `clusterctl move` takes along, as Metal3's own CRD asks for. */
export function bareMetalHost(namespace: string, name: string): KubeObject {
  const labels = { "clusterctl.cluster.x-k8s.io/move": "" };
  return { ...hostKind, metadata: { name, namespace, labels }, spec: { online: true } };
}

/** Whether a machine that a template made still waits for its host; for `StandIn.holdProvisioning`. */
export function awaitsHost(machine: KubeObject): boolean {
  return clonedFrom(machine) !== undefined && machine.metadata.annotations?.[imageFetched] === undefined;
}

function inSequence(): Surroundings["alone"] {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const next = last.then(act, act);
    last = next;
    return next;
  };
}

/** Starts it for all namespaces of a control plane. It ends at teardown. */
export function startHosts(api: Api, metal3Version: string): Hosts {
  const log: HostLog[] = [];
  const errors: unknown[] = [];
  const machineKind: Kind = { apiVersion: metal3Version, kind: "Metal3Machine" };
  const alone = inSequence();
  const onError = (error: unknown): void => {
    if (!(error instanceof ApiError && [404, 409].includes(error.status))) errors.push(error);
  };
  // What cannot go on must not keep the others waiting, so it is looked at again later.
  const later = (following: Following): void => void setTimeout(() => following.again(), 500).unref();
  const machines = follow(
    api,
    machineKind,
    async ({ type, object }) => {
      const { deletionTimestamp, annotations = {} } = object.metadata;
      if (type === "DELETED" || deletionTimestamp !== undefined) return;
      if (isInTheMaking(object) || !awaitsHost(object) || annotations[claimed] !== undefined) return;
      if (!(await alone(() => claim(api, object, machineKind)))) later(machines);
    },
    onError,
  );
  const hosts = follow(
    api,
    hostKind,
    async ({ type, object }) => {
      if (type !== "DELETED" && !(await turn({ api, log, machineKind, alone }, object))) later(hosts);
    },
    onError,
  );
  return { log, errors, release: (machine) => alone(() => release(api, machine)) };
}
