import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stringify } from "yaml";
import { KNATIVE, type Manifest, parseManifests } from "../../knative/manifests.ts";
import { binary, buildFolder } from "./paths.ts";

/** What kustomize itself makes of a folder below knative/. Throws with its message where it makes nothing. */
export function kustomized(folder: string): readonly Manifest[] {
  return built(join(KNATIVE, folder));
}

/** What kustomize makes of resources and components together, folders below knative/. Throws with its message where it makes nothing. */
export function kustomizedTogether(resources: readonly string[], components: readonly string[]): readonly Manifest[] {
  const folder = mkdtempSync(join(buildFolder, "kustomization-"));
  const from = (name: string): string => relative(folder, join(KNATIVE, name));
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: resources.map(from),
    components: components.map(from),
  };
  try {
    writeFileSync(join(folder, "kustomization.yaml"), stringify(kustomization));
    return built(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function built(folder: string): readonly Manifest[] {
  const options = { encoding: "utf8", maxBuffer: 16 * 1024 * 1024 } as const;
  return parseManifests(execFileSync(binary("kustomize"), ["build", folder], options));
}
