import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import type { Crd } from "./crd-files.ts";
import { type CrdOptions, capiCrds, installCrds, providerCrds, untilServed } from "./crds.ts";
import { etcdData } from "./etcd.ts";
import type { KubeObject } from "./objects.ts";
import { buildFolder } from "./paths.ts";
import { installAccess, shippedAccess } from "./shipped-access.ts";

/** What a management cluster has before anything happens on it. */
export interface Content {
  crds: readonly Crd[];
  /** Accounts and rights. */
  access: readonly KubeObject[];
}

/** What an etcd with this content depends on: the content, and the programs that wrote it. */
function seedFolder(content: Content): string {
  const stamps = join(buildFolder, "stamps");
  const hash = createHash("sha256").update(JSON.stringify(content));
  for (const name of readdirSync(stamps).toSorted()) hash.update(readFileSync(join(stamps, name)));
  return join(buildFolder, "seeds", hash.digest("hex").slice(0, 16));
}

/**
 * The data of an etcd in which the kinds and the functions' rights are installed already, made at first use. Installing forty
 * kinds keeps two cores busy for 10 to 30 s, since kube-apiserver computes its whole OpenAPI document anew for each one.
 */
async function seedWith(content: Content): Promise<string> {
  const folder = seedFolder(content);
  if (existsSync(folder)) return folder;
  const source = await startControlPlane({ name: "seed" });
  await installCrds(source.api, content.crds);
  await installAccess(source.api, content.access);
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
