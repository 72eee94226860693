import { manifestsOf } from "../../knative/manifests.ts";
import type { Api } from "../harness/api-types.ts";
import type { KubeObject } from "../harness/objects.ts";

/** Lets collect-templates read the release Secrets of a namespace, with the shipped role and the example's binding. */
export async function letReadReleases(api: Api, namespace: string): Promise<void> {
  const [role, ...others] = manifestsOf("options/records-helm");
  if (role === undefined || others.length > 0) throw new Error("the option is not one role");
  await api.apply(role as KubeObject);
  const binding = manifestsOf("overlays/keep-charts").find(
    ({ metadata }) => metadata.name === "capi-caretaker-records",
  );
  if (binding === undefined) throw new Error("the overlay binds nobody to the role");
  await api.apply({ ...binding, metadata: { name: binding.metadata.name, namespace } } as KubeObject);
}
