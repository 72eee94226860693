import { join } from "node:path";
import type { Api } from "./api-types.ts";
import { type Crd, providerCrdsFolder, readCrds } from "./crd-files.ts";
import { conditionOf, refOf } from "./objects.ts";
import { openMetal3Crds, openMetalCrds, openRke2Crds } from "./open-crds.ts";
import { builtCrdsFolder } from "./paths.ts";
import { eventually } from "./wait.ts";

export type BetaVersion = "v1beta1" | "v1beta2";

export interface CrdOptions {
  /** The version of Metal3's kinds that is served; v1beta1, as of Metal3 up to 1.12, by default. */
  metal3?: BetaVersion;
  /** Likewise of RKE2's kinds; v1beta1 by default. */
  rke2?: BetaVersion;
}

/**
 * Labels that each project's kustomize adds to its published schemas: Cluster API finds the version to read by
 * `cluster.x-k8s.io/<contract>`, and `clusterctl move` what to take along by the other.
 */
function contractLabels(versions: Partial<Record<BetaVersion, BetaVersion>>): Record<string, string> {
  const contracts = Object.entries(versions).map(([contract, version]) => [`cluster.x-k8s.io/${contract}`, version]);
  return { ...Object.fromEntries(contracts), "clusterctl.cluster.x-k8s.io": "" };
}

/** The same CustomResourceDefinition with one version served and stored, and so with nothing to convert. */
export function servingOnly(crd: Crd, version: string, labels: Record<string, string> = {}): Crd {
  const kept = crd.spec.versions.find(({ name }) => name === version);
  if (kept === undefined) throw new Error(`${crd.metadata.name} has no version ${version}`);
  const { apiVersion, kind, metadata, spec } = crd;
  return {
    apiVersion,
    kind,
    metadata: { name: metadata.name, labels: { ...metadata.labels, ...labels } },
    spec: { ...spec, versions: [{ ...kept, served: true, storage: true }], conversion: { strategy: "None" } },
  };
}

/** Cluster API's real kinds, core and kubeadm, as v1beta2. */
export function capiCrds(): Crd[] {
  const labels = contractLabels({ v1beta1: "v1beta1", v1beta2: "v1beta2" });
  return readCrds(join(builtCrdsFolder, "capi")).map((crd) => {
    const hasV1beta2 = crd.spec.versions.some(({ name }) => name === "v1beta2");
    return servingOnly(crd, hasV1beta2 ? "v1beta2" : (crd.spec.versions.at(-1)?.name ?? ""), labels);
  });
}

function ofProvider(folder: string, without: Crd[], version: string, labels: Record<string, string>): Crd[] {
  const root = providerCrdsFolder();
  const crds = root === undefined ? without : readCrds(join(root, folder));
  return crds.map((crd) => servingOnly(crd, version, labels));
}

/** The providers' kinds: real schemas where E2E_PROVIDER_CRDS has them, else open ones. */
export function providerCrds({ metal3 = "v1beta1", rke2 = "v1beta1" }: CrdOptions = {}): Crd[] {
  return [
    ...ofProvider(
      metal3 === "v1beta1" ? "metal3-v1.10.4" : "metal3-v1.13.2",
      openMetal3Crds(metal3),
      metal3,
      contractLabels({ [metal3]: metal3 }),
    ),
    ...ofProvider("rke2-v0.25", openRke2Crds(rke2), rke2, contractLabels({ [rke2]: rke2 })),
    ...["baremetal", "ipam"].flatMap((folder) =>
      ofProvider(
        folder,
        openMetalCrds().filter(({ spec }) => spec.group.startsWith("ipam") === (folder === "ipam")),
        "v1alpha1",
        contractLabels({}),
      ),
    ),
  ];
}

/** Knative's own schemas; the webhook that would convert one of them is not there. */
export function knativeCrds(): Crd[] {
  const crds = ["knative", "serving"].flatMap((part) => readCrds(join(builtCrdsFolder, part)));
  return crds.map(({ spec: { conversion: _, ...spec }, ...crd }) => ({ ...crd, spec }));
}

/** Waits until the objects of each CustomResourceDefinition can be listed. */
export async function untilServed(api: Api, crds: readonly Crd[]): Promise<void> {
  await Promise.all(
    crds.map(async (crd) => {
      const { group, names, versions } = crd.spec;
      const version = versions.find(({ served }) => served)?.name;
      await eventually(`${crd.metadata.name} to be served`, async () => {
        const isEstablished = conditionOf(await api.get(refOf(crd)), "Established")?.status === "True";
        // Even then its storage answers 429 for a moment.
        return isEstablished && (await api.list({ apiVersion: `${group}/${version}`, kind: names.kind })) !== undefined;
      });
    }),
  );
}

/** Applies CustomResourceDefinitions and waits until they are served; `startManagementCluster` is faster for many. */
export async function installCrds(api: Api, crds: readonly Crd[]): Promise<void> {
  await Promise.all(crds.map((crd) => api.apply(crd, { fieldManager: "e2e-crds" })));
  await untilServed(api, crds);
}
