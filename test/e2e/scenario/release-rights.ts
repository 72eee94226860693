import { manifestsOf } from "../../knative/manifests.ts";
import type { Api } from "../harness/api-types.ts";
import { functionsNamespace } from "../harness/functions.ts";
import type { KubeObject } from "../harness/objects.ts";

/** Lets collect-templates read the release Secrets of a namespace, with the shipped role and the binding that its file asks for. */
export async function letReadReleases(api: Api, namespace: string): Promise<void> {
  const [role, ...others] = manifestsOf("options/records-helm");
  if (role === undefined || others.length > 0) throw new Error("the option is not one role");
  await api.apply(role as KubeObject);
  await api.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "capi-caretaker-records", namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role.metadata.name },
    subjects: [{ kind: "ServiceAccount", namespace: functionsNamespace, name: "collect-templates" }],
  });
}
