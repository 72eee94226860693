import { startAdapter } from "../harness/adapter.ts";
import { controlPlaneVersion, coreVersion } from "../harness/capi-objects.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { startFunction } from "../harness/functions.ts";
import { type Filter, type Relay, startRelay } from "../harness/relay.ts";
import { sweepOf } from "./caretakers.ts";

/** The project's marks, spelled out here again so that a test notices when one changes. */
export const adopt = "capi-caretaker.io/adopt";
export const adoptionRefused = "capi-caretaker.io/adoption-refused";
export const paused = "cluster.x-k8s.io/paused";

/** The filter of label-machines' Trigger. */
const toLabel: Filter = ({ attributes: { type = "", kind = "" } }) =>
  !type.endsWith(".delete") && (kind.endsWith("ControlPlane") || kind === "Cluster");

/** label-machines with an event source before it, as it is installed. */
export interface Adopter {
  relay: Relay;
  /** What the PingSource does every ten minutes; throws when the function does not answer with success. */
  sweep(): Promise<void>;
}

/** Starts the function and, before it, the event source and a relay with the filter of its Trigger. */
export async function startAdopter(controlPlane: ControlPlane): Promise<Adopter> {
  const served = await startFunction("label-machines", controlPlane);
  const relay = await startRelay();
  relay.deliverTo("label-machines", served.url, toLabel);
  await startAdapter(controlPlane, relay.url, [
    { apiVersion: coreVersion, kind: "Cluster" },
    { apiVersion: controlPlaneVersion, kind: "KubeadmControlPlane" },
  ]);
  return {
    relay,
    async sweep() {
      await sweepOf(served);
    },
  };
}
