import { join } from "node:path";

/** The folder `test/e2e`. */
export const e2eFolder: string = join(import.meta.dirname, "..");
/** The project's root folder. */
export const projectFolder: string = join(e2eFolder, "..", "..");
/** What `node test/e2e/build.ts` makes; ignored by git. */
export const buildFolder: string = join(e2eFolder, ".build");
/** CustomResourceDefinitions copied out of the Go modules, a folder per module. */
export const builtCrdsFolder: string = join(buildFolder, "crds");
/** Where the runs keep their logs and data; ignored by git. */
export const runsFolder: string = join(e2eFolder, ".runs");

/** Path of a built binary, such as `etcd`; see parts.ts for the names. */
export function binary(name: string): string {
  return join(buildFolder, "bin", name);
}
