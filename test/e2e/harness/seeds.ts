import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { basename, join } from "node:path";
import { startControlPlane } from "./control-plane.ts";
import type { Crd } from "./crd-files.ts";
import { installCrds } from "./crds.ts";
import { etcdData } from "./etcd.ts";
import type { KubeObject } from "./objects.ts";
import { buildFolder } from "./paths.ts";
import { installAccess } from "./shipped-access.ts";

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

/** Each edit of a role makes another seed of 64 MB; those that no run asked for in two days go. */
function removeOldSeeds(): void {
  const seeds = join(buildFolder, "seeds");
  mkdirSync(seeds, { recursive: true });
  for (const name of readdirSync(seeds)) {
    const folder = join(seeds, name);
    if (Date.now() - statSync(folder).mtimeMs > 48 * 3_600_000) rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The data of an etcd in which the kinds and the functions' rights are installed already, made at first use. Installing forty
 * kinds keeps two cores busy for 10 to 30 s, since kube-apiserver computes its whole OpenAPI document anew for each one.
 */
export async function seedWith(content: Content): Promise<string> {
  const folder = seedFolder(content);
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return folder;
  }
  removeOldSeeds();
  const source = await startControlPlane({ name: `seed-${basename(folder)}` });
  await installCrds(source.api, content.crds);
  await installAccess(source.api, content.access);
  await source.stop();
  const fresh = `${folder}.${process.pid}`;
  cpSync(etcdData(source.folder), fresh, { recursive: true });
  // Another run may have made the same one meanwhile.
  if (!existsSync(folder)) renameSync(fresh, folder);
  return folder;
}
