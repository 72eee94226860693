import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { KNATIVE, type Manifest, parseManifests } from "../../knative/manifests.ts";
import { binary } from "./paths.ts";

/** What kustomize itself makes of a folder below knative/. Throws with its message where it makes nothing. */
export function kustomized(folder: string): readonly Manifest[] {
  const options = { encoding: "utf8", maxBuffer: 16 * 1024 * 1024 } as const;
  return parseManifests(execFileSync(binary("kustomize"), ["build", join(KNATIVE, folder)], options));
}
