import { join } from "node:path";
import type { Api } from "./api-types.ts";
import type { ControlPlane } from "./control-plane.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { valueAt } from "./objects.ts";
import { runFolder } from "./run-folder.ts";

export interface Account {
  namespace: string;
  name: string;
}

/** The user that a service account is in the API server's eyes. */
export function userOf({ namespace, name }: Account): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Mints a token of an hour of an existing service account through the TokenRequest API; for the API server unless an audience is named. */
export async function mintToken(api: Api, namespace: string, name: string, audience?: string): Promise<string> {
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3600, ...(audience === undefined ? {} : { audiences: [audience] }) },
  };
  const { status, body } = await api.raw({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: JSON.stringify(request),
  });
  const token = valueAt(JSON.parse(body), "status", "token");
  if (typeof token !== "string") throw new Error(`no token for ${namespace}/${name}: ${status} ${body}`);
  return token;
}

/** Writes a kubeconfig with a token of an existing service account, and returns its path. */
export async function kubeconfigFor(
  { api, server, name: folder }: Pick<ControlPlane, "api" | "server" | "name">,
  { namespace, name }: Account,
): Promise<string> {
  const token = await mintToken(api, namespace, name);
  const { url, ca } = server;
  const path = join(runFolder(folder), `${namespace}-${name}-kubeconfig`);
  return writeKubeconfig(path, { url, token, ...(ca === undefined ? {} : { ca }) });
}

/**
 * Makes a service account (and its namespace), binds a ClusterRole to it, and returns the path of its kubeconfig. In the audit
 * log it is the user `system:serviceaccount:<namespace>:<name>`.
 */
export async function serviceAccountKubeconfig(
  controlPlane: ControlPlane,
  { namespace, name, clusterRole = "cluster-admin" }: Account & { clusterRole?: string },
): Promise<string> {
  const { api } = controlPlane;
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await api.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
  await api.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: `${namespace}-${name}` },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
    subjects: [{ kind: "ServiceAccount", namespace, name }],
  });
  return kubeconfigFor(controlPlane, { namespace, name });
}
