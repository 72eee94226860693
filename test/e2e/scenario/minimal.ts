import { kindsOf } from "../../knative/providers.ts";
import { type Adapter, startAdapter } from "../harness/adapter.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { capiCrds, knativeCrds, providerCrds } from "../harness/crds.ts";
import { kustomized } from "../harness/kustomize.ts";
import { startManagementCluster } from "../harness/management-cluster.ts";
import { type Kind, type KubeObject, valueAt } from "../harness/objects.ts";
import { accessIn } from "../harness/shipped-access.ts";

/** A management cluster as the overlay `minimal` expects it. */
export interface Minimal {
  controlPlane: ControlPlane;
  /** The ApiServerSources of the overlay. */
  sources: readonly KubeObject[];
}

/** Starts a control plane with the kinds of core, kubeadm and Metal3 alone, and with the accounts, rights and event sources of `minimal`. */
export async function startMinimal(): Promise<Minimal> {
  const manifests = kustomized("overlays/minimal") as readonly KubeObject[];
  const kinds = [...kindsOf("core", "kubeadm", "metal3"), { group: "metal3.io", kind: "BareMetalHost" }];
  const named = new Set(
    [...kinds, { group: "sources.knative.dev", kind: "ApiServerSource" }].map(({ group, kind }) => `${kind}.${group}`),
  );
  const crds = [...capiCrds(), ...providerCrds(), ...knativeCrds()].filter(({ spec }) =>
    named.has(`${spec.names.kind}.${spec.group}`),
  );
  const controlPlane = await startManagementCluster({ audit: true, content: { crds, access: accessIn(manifests) } });
  const sources = manifests.filter(({ kind }) => kind === "ApiServerSource");
  for (const source of sources) await controlPlane.api.apply(source);
  return { controlPlane, sources };
}

/** Starts the adapter of an ApiServerSource as its own account, as Knative would. */
export async function startSource(controlPlane: ControlPlane, source: KubeObject, sink: string): Promise<Adapter> {
  const kinds = valueAt(source, "spec", "resources") as readonly Kind[];
  const { name } = source.metadata;
  return startAdapter(controlPlane, sink, kinds, { name: `source-${name}`, account: accountOf(source) });
}

/** The service account that an ApiServerSource names. */
export function accountOf({ metadata: { namespace = "" }, spec }: KubeObject): { namespace: string; name: string } {
  return { namespace, name: String(valueAt(spec, "serviceAccountName")) };
}
