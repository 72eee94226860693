import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import { type CrdOptions, capiCrds, installCrds, providerCrds, untilServed } from "./crds.ts";
import { type Content, seedWith } from "./seeds.ts";
import { installAccess, shippedAccess } from "./shipped-access.ts";

/**
 * Starts a control plane that serves Cluster API's kinds and the providers', as a management cluster does, and has the accounts
 * and rights that are shipped for all providers, or the `content` given in place of both; no manager runs yet. Into a cluster
 * given by E2E_KUBECONFIG it is installed.
 */
export async function startManagementCluster(
  options: Omit<ControlPlaneOptions, "seed"> & CrdOptions & { content?: Content } = {},
): Promise<ControlPlane> {
  const { content = { crds: [...capiCrds(), ...providerCrds(options)], access: shippedAccess() } } = options;
  if ((process.env.E2E_KUBECONFIG ?? "") !== "") {
    const given = await startControlPlane(options);
    await installCrds(given.api, content.crds);
    await installAccess(given.api, content.access);
    return given;
  }
  const controlPlane = await startControlPlane({ ...options, seed: await seedWith(content) });
  await untilServed(controlPlane.api, content.crds);
  return controlPlane;
}
