import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { z } from "zod";
import { InputError } from "../../shared/setup/input-error.ts";

const PROJECT = join(import.meta.dirname, "../..");
const Package = z.object({ name: z.string(), version: z.string(), license: z.string() });

/** A package of which the bundle holds code. */
export interface Bundled extends z.infer<typeof Package> {
  /** Its licence and its notices, as they came with it. */
  readonly text: string;
}

/** The folders of the packages that these files belong to, each once; files of no package are left out. */
export function packageFolders(files: readonly string[]): readonly string[] {
  // As far as it goes: a package may bring another one inside it.
  const folders = files.flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
  return [...new Set(folders)].toSorted();
}

/** Every package that the bundle has code of, by name. Throws where one came without its licence. */
export async function bundledPackages(): Promise<readonly Bundled[]> {
  const { metafile } = await build({
    absWorkingDir: PROJECT,
    entryPoints: ["cli/start.ts"],
    outdir: "dist",
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  const packages = packageFolders(Object.keys(metafile.inputs)).map((folder) => bundledFrom(resolve(PROJECT, folder)));
  return packages.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function bundledFrom(folder: string): Bundled {
  const about = Package.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  if (files.length === 0) throw new InputError(`${about.name} ${about.version} came without its licence`);
  const texts = files.toSorted().map((name) => readFileSync(join(folder, name), "utf8").trim());
  return { ...about, text: texts.join("\n\n") };
}

/** One text with the licence of every package, under a line that names it. */
export function licencesText(packages: readonly Bundled[]): string {
  const head = `The bundle of capi-caretaker holds code of ${packages.length} packages, under the licences below.\n`;
  const parts = packages.map(({ name, version, license, text }) => {
    return `${"-".repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`;
  });
  return [head, ...parts].join("\n");
}
