import { type CloudEvent, pingEvent, postCloudEvent } from "../e2e/harness/cloud-event.ts";
import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import { type KubeObject, refOf } from "../e2e/harness/objects.ts";
import { resourceEvent } from "../e2e/scenario/events.ts";
import { machineWithParts, oldMachinesOf } from "./cluster/machines.ts";
import { configTemplate } from "./cluster/templates.ts";

/** Longer than any Broker waits. */
const LONGEST_MS = 240_000;

/** Posts events all at once. Throws where one is not answered with success. */
export async function postAll(url: string, events: readonly CloudEvent[]): Promise<void> {
  const answers = await Promise.all(events.map((event) => postCloudEvent(url, event, {}, LONGEST_MS)));
  const failed = answers.find(({ status }) => status !== 200 && status !== 204);
  if (failed !== undefined) throw new Error(`answered ${failed.status}: ${failed.body.trim()}`);
}

/** Has a function look at everything. Throws where it does not answer with success. */
export function sweep(url: string): Promise<void> {
  return postAll(url, [pingEvent()]);
}

/**
 * `count` deletions of KubeadmConfigs that are gone already, beyond the `machines` there are; each names one template alone,
 * the retired one of the `of` clusters in turn from cluster `first` on.
 */
export function deletions(machines: number, count: number, { first = 0, of = 1 } = {}): readonly CloudEvent[] {
  const each = Math.ceil(count / of);
  const ofCluster = (cluster: number) =>
    oldMachinesOf(cluster, machines, each).map((index) => machineWithParts(index)[2]);
  const objects = Array.from({ length: of }, (_, at) => ofCluster(first + at)).flat();
  return objects.slice(0, count).map((object) => resourceEvent("delete", object));
}

/** The deletion of a Metal3Machine that is gone already; it names a retired template and a live one. */
export function hostDeletion(machines: number, cluster: number): CloudEvent {
  const [index = 0] = oldMachinesOf(cluster, machines, 1);
  return resourceEvent("delete", machineWithParts(index)[1]);
}

/**
 * Deletes what is recorded as the witness that the retired KubeadmConfigTemplate of a cluster is needed, or any of its referrers
 * where none is recorded. Returns the event of it.
 */
export async function loseWitness({ api }: ControlPlane, cluster: number): Promise<CloudEvent> {
  const template = await api.get(refOf(configTemplate(cluster, "old")));
  const [witness] = /c-\d\d-m-\d+/.exec(JSON.stringify(template?.metadata.annotations ?? {})) ?? [];
  const old = oldMachinesOf(cluster, 0, 5000).map((index) => machineWithParts(index)[2]);
  const lost = old.find(({ metadata }) => metadata.name === witness) ?? (old[0] as KubeObject);
  await api.delete(refOf(lost));
  return resourceEvent("delete", lost);
}
