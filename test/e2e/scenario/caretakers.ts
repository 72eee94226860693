import { type Adapter, startAdapter } from "../harness/adapter.ts";
import { bootstrapVersion, controlPlaneVersion, coreVersion } from "../harness/capi-objects.ts";
import { type Answer, pingEvent, postCloudEvent } from "../harness/cloud-event.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { type FunctionOptions, type ServedFunction, startFunction } from "../harness/functions.ts";
import type { Kind } from "../harness/objects.ts";
import { type Filter, type Relay, startRelay } from "../harness/relay.ts";

export const metal3Version = "infrastructure.cluster.x-k8s.io/v1beta1";

/** What the event sources of the project's manifests watch, as far as these tests play it. */
export const watchedKinds: readonly Kind[] = [
  ...["Cluster", "Machine", "MachineDeployment", "MachineSet"].map((kind) => ({ apiVersion: coreVersion, kind })),
  ...["KubeadmConfig", "KubeadmConfigTemplate"].map((kind) => ({ apiVersion: bootstrapVersion, kind })),
  { apiVersion: controlPlaneVersion, kind: "KubeadmControlPlane" },
  ...["Metal3Cluster", "Metal3Machine", "Metal3MachineTemplate", "Metal3DataTemplate"].map((kind) => {
    return { apiVersion: metal3Version, kind };
  }),
];

const updatesThatCount = /Template$|ControlPlane$|^Cluster$|^MachineDeployment$/;

/** The filter of retain-templates' Trigger. */
export const toRetain: Filter = ({ attributes }) => (attributes.kind ?? "").endsWith("Template");
/** The filter of collect-templates' Trigger. */
export const toCollect: Filter = ({ attributes: { type = "", kind = "" } }) =>
  type.endsWith(".delete") || (type.endsWith(".update") && updatesThatCount.test(kind));

/** Both functions with an event source before them, as they are installed. */
export interface Caretakers {
  relay: Relay;
  adapter: Adapter;
  retain: ServedFunction;
  collect: ServedFunction;
  /** What the two PingSources do every ten minutes; throws when a function does not answer with success. */
  sweep(): Promise<void>;
  /** Ends all of it at once, as if it had been uninstalled without a thought. */
  remove(): Promise<void>;
}

/** Sends a sweep to one function. Throws when it does not answer with success. */
export async function sweepOf({ url }: Pick<ServedFunction, "url">): Promise<Answer> {
  const answer = await postCloudEvent(url, pingEvent());
  if (answer.status !== 200) throw new Error(`a sweep was answered with ${answer.status}: ${answer.body}`);
  return answer;
}

/** Starts both functions and, before them, the event source and a relay with the filters of the project's Triggers. */
export async function startCaretakers(controlPlane: ControlPlane, options: FunctionOptions = {}): Promise<Caretakers> {
  const retain = await startFunction("retain-templates", controlPlane, options);
  const collect = await startFunction("collect-templates", controlPlane, options);
  const relay = await startRelay();
  relay.deliverTo("retain-templates", retain.url, toRetain);
  relay.deliverTo("collect-templates", collect.url, toCollect);
  const adapter = await startAdapter(controlPlane, relay.url, watchedKinds);
  return {
    relay,
    adapter,
    retain,
    collect,
    async sweep() {
      await sweepOf(retain);
      await sweepOf(collect);
    },
    async remove() {
      await adapter.stop();
      await relay.stop();
      await Promise.all([retain.stop(), collect.stop()]);
    },
  };
}
