import type { FunctionName } from "../../knative/needs.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { type ServedFunction, startFunction } from "../harness/functions.ts";
import { kustomized } from "../harness/kustomize.ts";
import { type KubeObject, valueAt } from "../harness/objects.ts";
import { type Account, kubeconfigFor } from "../harness/service-account.ts";
import { accessIn, installAccess } from "../harness/shipped-access.ts";
import { eventually } from "../harness/wait.ts";
import { grantsWith, mayDo } from "./rights.ts";

/** An overlay's accounts and rights on a cluster, and its functions as processes of ours. */
export interface Installed {
  namespace: string;
  /** Serves a function as its Knative Service would: its environment, its account. `env` is put over that. */
  serve(name: FunctionName, env?: Record<string, string>): Promise<ServedFunction>;
}

/**
 * Applies the accounts and rights of an overlay of core, kubeadm and metal3, and waits until its functions have those they
 * need in its namespace.
 */
export async function installOverlay(controlPlane: ControlPlane, overlay: string): Promise<Installed> {
  const { api } = controlPlane;
  const objects = kustomized(`overlays/${overlay}`) as readonly KubeObject[];
  await installAccess(api, accessIn(objects));
  const namespace = objects.find(({ kind }) => kind === "Namespace")?.metadata.name ?? "";
  return {
    namespace,
    async serve(name, env = {}) {
      const account = { namespace, name };
      await untilGranted(controlPlane, account);
      const service = objects.find((one) => one.apiVersion.startsWith("serving.") && one.metadata.name === name);
      const kubeconfig = await kubeconfigFor(controlPlane, account);
      const set = { ...environmentOf(service), ...env };
      return startFunction(name, controlPlane, { env: set, kubeconfig });
    },
  };
}

async function untilGranted({ api }: ControlPlane, account: Account & { name: FunctionName }): Promise<void> {
  const grants = grantsWith(account.name, "core", "kubeadm", "metal3").map((one) =>
    one.replace(" in own namespace", ""),
  );
  await eventually(`the rights of ${account.name} to be added up`, async () => {
    const allowed = await Promise.all(grants.map((grant) => mayDo(api, account, grant, account.namespace)));
    return allowed.every(Boolean);
  });
}

function environmentOf(service: unknown): Record<string, string> {
  const env = valueAt(service, "spec", "template", "spec", "containers", 0, "env");
  if (!Array.isArray(env)) throw new Error("the Service sets no environment");
  return Object.fromEntries(env.map(({ name, value }: { name: string; value: string }) => [name, value]));
}
