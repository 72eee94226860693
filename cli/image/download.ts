import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../shared/setup/input-error.ts";
import type { Architecture, DebianPin, NodePin } from "./pins.ts";

const PINS = "cli/image/pins.ts";
/** apt's own downloader, which needs no package lists, knows the machine's proxies, and checks the hash. */
const APT_HELPER = "/usr/lib/apt/apt-helper";

/** Where a Debian mirror keeps the package, from the mirror's root. A file's name has the version without its epoch. */
export function debianPath({ name, version, pool, sha256 }: DebianPin, architecture: Architecture): string {
  const suffix = sha256.all === undefined ? architecture : "all";
  return `pool/${pool}/${name}_${version.replace(/^\d+:/, "")}_${suffix}.deb`;
}

/** The hash pinned for an architecture, in hex. Throws where none is. */
export function debianHash({ name, sha256 }: DebianPin, architecture: Architecture): string {
  const hash = sha256.all ?? sha256[architecture];
  if (hash === undefined) throw new InputError(`${PINS} has no sha256 of ${name} for ${architecture}`);
  return hash;
}

/**
 * The mirror to ask: what DEBIAN_MIRROR says, or else the machine's own, from the lines of `apt-get indextargets`.
 * Throws where neither is a Debian mirror, as on Ubuntu.
 */
export function mirrorFrom(asked: string | undefined, sites: readonly string[]): string {
  const mirror = asked || sites.find((site) => /\/debian\/?$/.test(site));
  if (mirror === undefined) {
    throw new InputError("this machine's apt knows no Debian mirror: set DEBIAN_MIRROR to the URL of one");
  }
  return mirror.replace(/\/$/, "");
}

/** Fetches a Debian package into a folder, unless it is there. Returns its path. Throws what to do where it is not served. */
export function fetchDebian(pin: DebianPin, architecture: Architecture, folder: string): string {
  const path = debianPath(pin, architecture);
  const file = join(folder, path.split("/").at(-1) ?? "");
  const hash = debianHash(pin, architecture);
  if (isIntact(file, "sha256", hash, "hex")) return file;
  mkdirSync(folder, { recursive: true });
  const mirror = mirrorFrom(process.env.DEBIAN_MIRROR, machineSites());
  try {
    execFileSync(APT_HELPER, ["download-file", `${mirror}/${path}`, file, `SHA256:${hash}`], { stdio: "pipe" });
  } catch (error) {
    throw new InputError(
      `${pin.name} ${pin.version} for ${architecture} cannot be had from ${mirror} with the pinned sha256. Where Debian has moved ` +
        `to another version, put that version and its hashes (apt-cache show ${pin.name}) into ${PINS}; to build with this ` +
        `one, set DEBIAN_MIRROR to a snapshot that has it. It said: ${saidBy(error)}`,
    );
  }
  return file;
}

function machineSites(): readonly string[] {
  try {
    return execFileSync("apt-get", ["indextargets", "--format", "$(SITE)"], { encoding: "utf8" }).split("\n");
  } catch {
    throw new InputError("the image is made of Debian's libraries, which apt fetches; there is no apt here");
  }
}

/** Fetches Node's build for another machine into a folder, unless it is there. Returns the archive's path. */
export function fetchNode({ name, integrity }: NodePin, version: string, folder: string): string {
  const file = join(folder, `${name}-${version}.tgz`);
  const [algorithm = "", hash = ""] = integrity.split("-", 2);
  if (isIntact(file, algorithm, hash, "base64")) return file;
  mkdirSync(folder, { recursive: true });
  rmSync(file, { force: true });
  // The archive of this machine's architecture is in npm's cache since `npm ci`.
  const args = ["pack", "--loglevel=error", "--prefer-offline", "--pack-destination", folder, `${name}@${version}`];
  try {
    execFileSync("npm", args, { stdio: "pipe" });
  } catch (error) {
    throw new InputError(`npm has no ${name}@${version}: ${saidBy(error)}`);
  }
  if (isIntact(file, algorithm, hash, "base64")) return file;
  rmSync(file, { force: true });
  throw new InputError(
    `${name}@${version} is not the archive that ${PINS} names. Where package.json has moved to another version of node, ` +
      `put \`npm view ${name}@${version} dist.integrity\` there`,
  );
}

function isIntact(file: string, algorithm: string, hash: string, encoding: "hex" | "base64"): boolean {
  return existsSync(file) && createHash(algorithm).update(readFileSync(file)).digest(encoding) === hash;
}

function saidBy(error: unknown): string {
  const stderr = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
  // Warnings of apt, such as of a folder that its own user cannot read, tell nothing of why it failed.
  return (stderr.replaceAll(/^W: .*$/gm, "").trim() || String(error)).replaceAll(/\s*\n\s*/g, " ");
}
