import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { bundledPackages, licencesText } from "../artefacts/licences.ts";
import { NODE_FLAGS } from "../bundle/node-flags.ts";
import { fetchDebian, fetchNode } from "./download.ts";
import { packLayer } from "./layer.ts";
import { checkLinkage } from "./linkage.ts";
import { type Layer, type Start, writeLayout } from "./oci.ts";
import { ARCHITECTURES, type Architecture, DEBIAN, NODE } from "./pins.ts";
import { makeAppRoot, makeNodeRoot, makeSystemRoot, NODE_PATH, USER } from "./root.ts";

const PROJECT = join(import.meta.dirname, "../..");
const DOWNLOADS = join(PROJECT, "build/downloads");
const Package = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  dependencies: z.object({ node: z.string() }),
});

/** What package.json says of the project. */
export function readPackage(): z.infer<typeof Package> {
  return Package.parse(JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")));
}

/**
 * Bundles the functions and writes an OCI image layout of them for every architecture into `layout`, a folder that is
 * emptied first. Returns the image's digest, which is the same for the same files. Throws an InputError where something it
 * is made of cannot be had.
 */
export async function buildImage(layout: string): Promise<string> {
  const { name, version, description, license, dependencies } = readPackage();
  const bundle = join(PROJECT, "dist");
  // A file left from another build would be taken for one of this.
  rmSync(bundle, { recursive: true, force: true });
  execFileSync(process.execPath, ["cli/bundle.ts"], { cwd: PROJECT, stdio: ["ignore", "ignore", "inherit"] });
  const licences = {
    LICENSE: readFileSync(join(PROJECT, "LICENSE"), "utf8"),
    "THIRD-PARTY-LICENSES": licencesText(await bundledPackages()),
  };
  rmSync(layout, { recursive: true, force: true });
  const work = `${layout}.work`;
  rmSync(work, { recursive: true, force: true });
  try {
    const layers = ARCHITECTURES.map(
      async (one) => [one, await layersOf(one, { layout, work, bundle, licences, node: dependencies.node })] as const,
    );
    const start: Start = {
      user: `${USER}:${USER}`,
      env: ["PATH=/usr/local/bin", "NODE_ENV=production"],
      entrypoint: ["node", ...NODE_FLAGS, "/app/caretaker.mjs"],
      port: 8080,
      labels: {
        "org.opencontainers.image.title": name,
        "org.opencontainers.image.description": description,
        "org.opencontainers.image.licenses": license,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": revision(),
      },
    };
    return writeLayout(layout, new Map(await Promise.all(layers)), start, version).digest;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Fetches what the image is made of, unless it is there; after this an image can be built without any network. */
export function fetchImageParts(): void {
  for (const architecture of ARCHITECTURES) partsOf(architecture, readPackage().dependencies.node);
}

/** The archives that the image of an architecture is made of, on this machine. */
function partsOf(architecture: Architecture, node: string) {
  return {
    libraries: DEBIAN.map((pin) => fetchDebian(pin, architecture, DOWNLOADS)),
    runtime: fetchNode(NODE[architecture], node, DOWNLOADS),
  };
}

interface Sources {
  readonly layout: string;
  readonly work: string;
  readonly bundle: string;
  /** Node's version. */
  readonly node: string;
  /** Ours and those of what the bundle holds, by the file's name. */
  readonly licences: Readonly<Record<string, string>>;
}

/** What changes least comes first, so that a new release of ours is pulled without it. */
async function layersOf(
  architecture: Architecture,
  { layout, work, bundle, node, licences }: Sources,
): Promise<Layer[]> {
  const root = (name: string): string => join(work, `${architecture}-${name}`);
  const [system, runtime, app] = [root("system"), root("node"), root("app")];
  for (const folder of [system, runtime, app]) mkdirSync(folder, { recursive: true });
  const parts = partsOf(architecture, node);
  makeSystemRoot(system, parts.libraries);
  makeNodeRoot(runtime, parts.runtime);
  checkLinkage(join(runtime, NODE_PATH), system, architecture);
  makeAppRoot(app, bundle, licences);
  return [
    await packLayer(system, layout, DEBIAN.map((pin) => `${pin.name} ${pin.version}`).join(", ")),
    await packLayer(runtime, layout, `node ${node}`),
    await packLayer(app, layout, "npm run bundle"),
  ];
}

function revision(): string {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], { cwd: PROJECT, encoding: "utf8", stdio: "pipe" }).trim();
  } catch {
    return "unknown";
  }
}
