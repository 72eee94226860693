import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseManifests } from "../knative/manifests.ts";
import { kustomized } from "./harness/kustomize.ts";
import { projectFolder } from "./harness/paths.ts";
import { runFolder } from "./harness/run-folder.ts";

const image = `registry.example/team/capi-caretaker@sha256:${"a".repeat(64)}`;

test("the artefacts of a release -> every overlay with the image by digest, and the checksums are right", () => {
  const folder = join(runFolder(), "release");
  execFileSync(process.execPath, ["cli/artefacts.ts", "--image", image, "--out", folder], { cwd: projectFolder });
  const overlays = readdirSync(join(projectFolder, "knative/overlays"));

  const files = readdirSync(folder);
  expect(files.toSorted()).toEqual(
    [
      ...overlays.map((name) => `install-${name}.yaml`),
      ...["CHANGELOG.md", "LICENSE", "SHA256SUMS", "THIRD-PARTY-LICENSES", "sbom.cdx.json"],
    ].toSorted(),
  );
  for (const overlay of overlays) {
    const text = readFileSync(join(folder, `install-${overlay}.yaml`), "utf8");
    const plain = JSON.stringify(kustomized(`overlays/${overlay}`));
    expect(JSON.stringify(parseManifests(text))).toBe(
      plain.replaceAll('"image":"capi-caretaker"', `"image":"${image}"`),
    );
    expect(text).toContain(image);
  }
  execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: folder });
  const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
  expect(sums).toHaveLength(files.length - 1);
});
