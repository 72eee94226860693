import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import { startManagementCluster } from "../e2e/harness/management-cluster.ts";
import { refOf } from "../e2e/harness/objects.ts";
import { eventually } from "../e2e/harness/wait.ts";
import { generate } from "./cluster/generate.ts";
import { namespace } from "./cluster/identity.ts";
import { machineWithParts } from "./cluster/machines.ts";
import { seed } from "./cluster/seed.ts";

/** Starts a control plane that holds a generated cluster, with an audit log of everything. No controller runs in it. */
export async function startGenerated(machines: number): Promise<ControlPlane> {
  const controlPlane = await startManagementCluster({
    name: `bench-${machines}`,
    audit: true,
    controllerManager: false,
  });
  const { api, own } = controlPlane;
  if (own === undefined)
    throw new Error("a generated cluster is written into an etcd of its own; unset E2E_KUBECONFIG");
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await seed(own.etcdUrl, generate(machines));
  for (const object of machineWithParts(machines - 1)) {
    const { apiVersion, kind, name } = refOf(object);
    await eventually(`the API server's cache of ${kind} to follow`, () =>
      api.get({ apiVersion, kind, name, namespace }),
    );
  }
  return controlPlane;
}
