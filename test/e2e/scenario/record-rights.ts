import { manifestsOf } from "../../knative/manifests.ts";
import type { Api } from "../harness/api-types.ts";
import { functionsNamespace } from "../harness/functions.ts";
import { kustomized } from "../harness/kustomize.ts";
import type { KubeObject } from "../harness/objects.ts";
import { eventually } from "../harness/wait.ts";
import { mayDo } from "./rights.ts";

const account = { namespace: functionsNamespace, name: "collect-templates" };

/** A right by which it shows that the option's role was added to the function's. */
const shown = {
  "records-flux": "get kustomize.toolkit.fluxcd.io/kustomizations",
  "records-argocd": "list argoproj.io/applications",
} as const;

/** Lets collect-templates read owners' records, with the shipped role, which its label adds to the function's. */
export async function letReadRecords(api: Api, option: keyof typeof shown): Promise<void> {
  for (const role of kustomized(`options/${option}`)) await api.apply(role as KubeObject);
  await eventually("the role to be added to the function's", () => mayDo(api, account, shown[option], "default"));
}

/** Lets it read the release Secrets of a namespace, with the shipped role and the example's binding. */
export async function letReadReleases(api: Api, namespace: string): Promise<void> {
  for (const role of kustomized("options/records-helm")) await api.apply(role as KubeObject);
  const binding = manifestsOf("overlays/keep-charts").find(
    ({ metadata }) => metadata.name === "capi-caretaker-records",
  );
  if (binding === undefined) throw new Error("the overlay binds nobody to the role");
  await api.apply({ ...binding, metadata: { name: binding.metadata.name, namespace } } as KubeObject);
}
