import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stringify } from "yaml";
import { InputError } from "../../shared/setup/input-error.ts";

const PROJECT = join(import.meta.dirname, "../..");
const OVERLAYS = join(PROJECT, "knative/overlays");
/** A Go module that pins kustomize by a `tool` line. */
const KUSTOMIZE = join(PROJECT, "test/e2e/parts/kustomize");

/** An image in a registry, by what it holds and not by a tag that may move. */
export interface Image {
  readonly name: string;
  readonly digest: string;
}

/** Reads `REGISTRY/REPO@sha256:…`, as `npm run image -- --push` prints it. Throws an InputError for anything else. */
export function imageFrom(text: string | undefined): Image {
  const [, name, digest] = /^([^@\s]+\/[^@\s]+)@(sha256:[0-9a-f]{64})$/.exec(text ?? "") ?? [];
  if (name !== undefined && digest !== undefined) return { name, digest };
  throw new InputError(
    `--image is to be REGISTRY/REPO@sha256:<64 hex digits>, as npm run image -- --push prints it, not ${JSON.stringify(text ?? "")}`,
  );
}

/** Every overlay that is shipped. */
export function overlays(): readonly string[] {
  return readdirSync(OVERLAYS).toSorted();
}

/** What kustomize makes of an overlay with this image, in one YAML text. `scratch` is a folder for its input. */
export function installYaml(overlay: string, { name, digest }: Image, scratch: string): string {
  const folder = mkdtempSync(join(scratch, "kustomization-"));
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: [relative(folder, join(OVERLAYS, overlay))],
    images: [{ name: "capi-caretaker", newName: name, digest }],
  };
  try {
    writeFileSync(join(folder, "kustomization.yaml"), stringify(kustomization));
    return execFileSync("go", ["-C", KUSTOMIZE, "tool", "kustomize", "build", folder], {
      encoding: "utf8",
      env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-trimpath -buildvcs=false" },
      maxBuffer: 64 * 1024 * 1024,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
