import { manifestsOf } from "../../knative/manifests.ts";
import type { Api } from "../harness/api-types.ts";
import { functionsNamespace } from "../harness/functions.ts";
import type { KubeObject } from "../harness/objects.ts";
import { eventually } from "../harness/wait.ts";
import { mayDo } from "./rights.ts";

/** Lets collect-templates read Flux's objects, with the shipped role, which its label adds to the function's. */
export async function letReadFlux(api: Api): Promise<void> {
  for (const role of manifestsOf("options/records-flux")) await api.apply(role as KubeObject);
  const account = { namespace: functionsNamespace, name: "collect-templates" };
  const grant = "get kustomize.toolkit.fluxcd.io/kustomizations";
  await eventually("the role to be added to the function's", () => mayDo(api, account, grant, "default"));
}
