import { stringify } from "yaml";
import { run } from "./command.ts";
import type { ControlPlane } from "./control-plane.ts";
import { installCrds } from "./crds.ts";
import type { KubeObject } from "./objects.ts";
import { openCrd } from "./open-crds.ts";
import { binary } from "./paths.ts";

export const kustomizationVersion = "kustomize.toolkit.fluxcd.io/v1";
export const helmReleaseVersion = "helm.toolkit.fluxcd.io/v2";

/** The namespace and name of a Kustomization or a HelmRelease. */
export interface FluxOwner {
  namespace: string;
  name: string;
}

/** What the engine said of each object, such as `created`, `unchanged` or `skipped`, by `Kind/name`. */
export interface Reconciled {
  applied: Record<string, string>;
  pruned: Record<string, string>;
}

/** How an object on the cluster differs from a release's manifest; `paths` are a JSON patch's operations and paths. */
export interface Drift {
  object: string;
  type: "create" | "update" | "exclude" | "none";
  paths: string[];
}

/** Installs Flux's two kinds with open schemas; before any function starts, which reads once what is served. */
export function installFluxKinds({ api }: ControlPlane): Promise<void> {
  const [kustomize, helm] = [kustomizationVersion, helmReleaseVersion].map((version) => version.split("/"));
  return installCrds(api, [
    openCrd(kustomize?.[0] ?? "", kustomize?.[1] ?? "", "Kustomization"),
    openCrd(helm?.[0] ?? "", helm?.[1] ?? "", "HelmRelease"),
  ]);
}

async function engine<T>(command: string, { kubeconfig }: ControlPlane, owner: FluxOwner, input: string): Promise<T> {
  const { namespace, name } = owner;
  const args = [command, "--kubeconfig", kubeconfig, "--namespace", namespace, "--name", name];
  const { code, stdout, stderr } = await run(binary("flux-engine"), args, { input });
  if (code !== 0) throw new Error(`flux-engine ${command} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** An inventory ID is `<namespace>_<name>_<group>_<kind>`. */
function byTitle(actions: Record<string, string>): Record<string, string> {
  const titled = Object.entries(actions).map(([id, action]) => {
    const [, name = "", , kind = ""] = id.split("_");
    return [`${kind}/${name}`, action];
  });
  return Object.fromEntries(titled);
}

/**
 * One reconciliation of a Kustomization whose folder holds these objects, as kustomize-controller does it: apply, prune by inventory,
 * status. Throws when the engine fails; the Kustomization then says so.
 */
export async function reconcile(
  controlPlane: ControlPlane,
  owner: FluxOwner,
  objects: readonly KubeObject[],
): Promise<Reconciled> {
  const input = objects.map((object) => stringify(object)).join("---\n");
  const { applied, pruned } = await engine<Reconciled>("kustomization", controlPlane, owner, input);
  return { applied: byTitle(applied), pruned: byTitle(pruned) };
}

/** Writes a release's manifest into its HelmRelease's inventory and calls it ready, as helm-controller does. */
export async function recordRelease(controlPlane: ControlPlane, owner: FluxOwner, manifest: string): Promise<void> {
  await engine("helmrelease", controlPlane, owner, manifest);
}

/** helm-controller's drift detection: where the cluster differs from a release's manifest, objects without drift left out. */
export async function driftOf(controlPlane: ControlPlane, owner: FluxOwner, manifest: string): Promise<Drift[]> {
  const drifts = await engine<Drift[]>("drift", controlPlane, owner, manifest);
  return drifts.filter(({ type }) => type !== "none");
}
