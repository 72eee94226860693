import { join } from "node:path";
import type { FunctionName } from "../../knative/needs.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { type ServedFunction, startFunction } from "../harness/functions.ts";
import { writeKubeconfig } from "../harness/kubeconfig.ts";
import { kustomized } from "../harness/kustomize.ts";
import { type KubeObject, valueAt } from "../harness/objects.ts";
import { runFolder } from "../harness/run-folder.ts";
import { mintToken } from "../harness/service-account.ts";
import { eventually } from "../harness/wait.ts";
import { type Account, grantsWith, mayDo } from "./rights.ts";

/** What an overlay installs that an API server without Knative knows: a namespace, accounts and their rights. */
const kinds = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

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
  const objects = kustomized(`overlays/${overlay}`);
  for (const object of objects.filter(({ kind }) => kinds.includes(kind))) await api.apply(object as KubeObject);
  const namespace = objects.find(({ kind }) => kind === "Namespace")?.metadata.name ?? "";
  return {
    namespace,
    async serve(name, env = {}) {
      const account = { namespace, name };
      await untilGranted(controlPlane, account);
      const service = objects.find((one) => one.apiVersion.startsWith("serving.") && one.metadata.name === name);
      const kubeconfig = await kubeconfigOf(controlPlane, account);
      const set = { ...environmentOf(service), ...env };
      return startFunction(name, controlPlane, { env: set, kubeconfig });
    },
  };
}

/** A kubeconfig with a token of the account. */
async function kubeconfigOf({ api, server, name }: ControlPlane, account: Account): Promise<string> {
  const { url, ca } = server;
  const token = await mintToken(api, account.namespace, account.name);
  const path = join(runFolder(name), `${account.namespace}-${account.name}-kubeconfig`);
  return writeKubeconfig(path, { url, token, ...(ca === undefined ? {} : { ca }) });
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
