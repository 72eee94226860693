import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { blobPath } from "../../../cli/image/oci.ts";
import { projectFolder } from "./paths.ts";

const Described = z.object({ digest: z.string() });
const Index = z.object({
  manifests: z.array(Described.extend({ platform: z.object({ architecture: z.string() }).optional() })),
});
const Manifest = z.object({ config: Described, layers: z.array(Described) });
const Config = z.object({
  architecture: z.string(),
  config: z.object({ User: z.string(), Env: z.array(z.string()), Entrypoint: z.array(z.string()) }),
});

export interface UnpackedImage {
  /** Where its files are. */
  root: string;
  /** How it wants to be started. */
  start: z.infer<typeof Config>["config"];
}

/** Runs the script behind `npm run image`; returns the lines it printed, of which the first ends with the digest. */
export async function npmRunImage(...args: readonly string[]): Promise<string[]> {
  // With the environment of this process: Go's caches are found by it.
  const { stdout } = await promisify(execFile)(process.execPath, ["cli/image.ts", ...args], { cwd: projectFolder });
  return stdout.trim().split("\n");
}

/** The digest that a layout's index.json gives its image. */
export function digestIn(layout: string): string {
  const { manifests } = Index.parse(JSON.parse(readFileSync(join(layout, "index.json"), "utf8")));
  if (manifests[0] === undefined || manifests.length > 1) throw new Error(`${layout} holds ${manifests.length} images`);
  return manifests[0].digest;
}

/** The architectures of a layout's image, in their order. */
export function architecturesIn(layout: string): (string | undefined)[] {
  return Index.parse(blob(layout, digestIn(layout))).manifests.map(({ platform }) => platform?.architecture);
}

/** Unpacks a layout's image for an architecture into a folder, layer by layer, as a container runtime does. */
export function unpackImage(layout: string, architecture: string, root: string): UnpackedImage {
  const { manifests } = Index.parse(blob(layout, digestIn(layout)));
  const found = manifests.find(({ platform }) => platform?.architecture === architecture);
  if (found === undefined) throw new Error(`${layout} has no image for ${architecture}`);
  const { config, layers } = Manifest.parse(blob(layout, found.digest));
  mkdirSync(root, { recursive: true });
  for (const { digest } of layers) execFileSync("tar", ["-xpzf", blobPath(layout, digest), "-C", root]);
  return { root, start: Config.parse(blob(layout, config.digest)).config };
}

function blob(layout: string, digest: string): unknown {
  return JSON.parse(readFileSync(blobPath(layout, digest), "utf8"));
}
