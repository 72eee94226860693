import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { InputError } from "../../shared/setup/input-error.ts";

/** A Go module that pins crane by a `tool` line; its login is docker's (`crane auth login`, or ~/.docker/config.json). */
const CRANE = join(import.meta.dirname, "../../test/e2e/parts/crane");

/** Pushes the image of a layout to `REGISTRY/REPO:TAG`. Returns it by its digest. Throws an InputError with what crane says. */
export function pushImage(layout: string, reference: string): string {
  try {
    return execFileSync("go", ["-C", CRANE, "tool", "crane", "push", layout, reference], {
      encoding: "utf8",
      env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-trimpath -buildvcs=false" },
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new InputError(`${reference} cannot be pushed to (it takes Go 1.26 or newer and a login): ${said}`);
  }
}
