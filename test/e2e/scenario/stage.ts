import { startCapi } from "../harness/capi.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { startManagementCluster } from "../harness/management-cluster.ts";
import type { TemplateLookup } from "../harness/node-reuse.ts";
import { type StandIn, startStandIn } from "../harness/stand-in.ts";
import { createWorkload } from "../harness/workload.ts";

/** A control plane with Cluster API's kinds and core manager, on which scenarios play side by side. */
export async function startStage(): Promise<ControlPlane> {
  const controlPlane = await startManagementCluster();
  await startCapi("capi-core", controlPlane);
  return controlPlane;
}

/** One scenario's namespace, with a cluster of the same name and a stand-in of its own. */
export interface Scene {
  controlPlane: ControlPlane;
  namespace: string;
  standIn: StandIn;
}

/** Makes a namespace with an initialized cluster that other scenarios do not touch; both are named alike. */
export async function openScene(
  controlPlane: ControlPlane,
  namespace: string,
  lookup: TemplateLookup = "annotation",
): Promise<Scene> {
  const standIn = startStandIn(controlPlane.api, { namespace, lookup });
  await createWorkload(controlPlane, { namespace, name: namespace });
  return { controlPlane, namespace, standIn };
}
