import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import type { Crd } from "./crd-files.ts";
import { type CrdOptions, capiCrds, installCrds, providerCrds, untilServed } from "./crds.ts";
import { etcdData } from "./etcd.ts";
import { buildFolder } from "./paths.ts";
import { installAccess, shippedAccess } from "./shipped-access.ts";

/** What an etcd with these kinds and the shipped rights depends on: both, and the programs that wrote them. */
function seedFolder(crds: readonly Crd[]): string {
  const stamps = join(buildFolder, "stamps");
  const hash = createHash("sha256").update(JSON.stringify([crds, shippedAccess()]));
  for (const name of readdirSync(stamps).toSorted()) hash.update(readFileSync(join(stamps, name)));
  return join(buildFolder, "seeds", hash.digest("hex").slice(0, 16));
}

/**
 * The data of an etcd in which the kinds and the functions' rights are installed already, made at first use. Installing forty
 * kinds keeps two cores busy for 10 to 30 s, since kube-apiserver computes its whole OpenAPI document anew for each one.
 */
async function seedWith(crds: readonly Crd[]): Promise<string> {
  const folder = seedFolder(crds);
  if (existsSync(folder)) return folder;
  const source = await startControlPlane({ name: "seed" });
  await installCrds(source.api, crds);
  await installAccess(source.api, shippedAccess());
  await source.stop();
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(join(buildFolder, "seeds"), { recursive: true });
  cpSync(etcdData(source.folder), fresh, { recursive: true });
  // Another run may have made the same one meanwhile.
  if (!existsSync(folder)) renameSync(fresh, folder);
  return folder;
}

/**
 * Starts a control plane that serves Cluster API's kinds and the providers', as a management cluster does, and has the accounts
 * and rights that are shipped for all providers; no manager runs yet. Into a cluster given by E2E_KUBECONFIG both are installed.
 */
export async function startManagementCluster(
  options: Omit<ControlPlaneOptions, "seed"> & CrdOptions = {},
): Promise<ControlPlane> {
  const crds = [...capiCrds(), ...providerCrds(options)];
  if ((process.env.E2E_KUBECONFIG ?? "") !== "") {
    const given = await startControlPlane(options);
    await installCrds(given.api, crds);
    await installAccess(given.api, shippedAccess());
    return given;
  }
  const controlPlane = await startControlPlane({ ...options, seed: await seedWith(crds) });
  await untilServed(controlPlane.api, crds);
  return controlPlane;
}
