import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { InputError } from "../shared/setup/input-error.ts";
import { imageFrom, installYaml, overlays } from "./artefacts/install.ts";
import { bundledPackages, licencesText } from "./artefacts/licences.ts";
import { npmSbom, sbomOf } from "./artefacts/sbom.ts";
import { runProgram } from "./exit.ts";
import { readPackage } from "./image/build.ts";

// Writes what a release consists of beside its image: a file to install from for each overlay, the bill of materials,
// the licences, the changes, and the checksums of them all.
await runProgram(async () => {
  const { out, image: asked } = optionsFrom(process.argv.slice(2));
  const image = imageFrom(asked);
  const folder = resolve(out);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  for (const overlay of overlays()) write(`install-${overlay}.yaml`, installYaml(overlay, image, folder));
  const { name, dependencies } = readPackage();
  write("sbom.cdx.json", `${JSON.stringify(sbomOf(npmSbom(), name, dependencies.node), undefined, 2)}\n`);
  write("THIRD-PARTY-LICENSES", licencesText(await bundledPackages()));
  for (const file of ["CHANGELOG.md", "LICENSE"]) {
    copyFileSync(join(import.meta.dirname, "..", file), join(folder, file));
  }
  const files = readdirSync(folder).toSorted();
  const sums = files.map((file) => `${sha256(readFileSync(join(folder, file)))}  ${file}\n`);
  write("SHA256SUMS", sums.join(""));
  process.stdout.write(`${folder}: ${[...files, "SHA256SUMS"].join(", ")}\n`);
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function optionsFrom(args: readonly string[]) {
  const options = { out: { type: "string", default: "build/release" }, image: { type: "string" } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new InputError(`${String(error)}; options are --image REGISTRY/REPO@sha256:… and --out DIR`, {
      cause: error,
    });
  }
}
