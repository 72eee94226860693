import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { InputError } from "../../shared/setup/input-error.ts";
import { linkedBy } from "./elf.ts";
import type { Architecture } from "./pins.ts";

/**
 * Holds an executable against the libraries it will find. Throws an InputError where it or one of them is made for another
 * architecture, or asks for a library that is not there: no other test tells for an architecture that cannot run here.
 *
 * @param system the folder with the libraries, as the image will have them
 */
export function checkLinkage(executable: string, system: string, architecture: Architecture): void {
  const libraries = globSync(join(system, "usr/lib/**/*.so*"));
  const names = new Set(libraries.map((path) => basename(path)));
  for (const file of [executable, ...libraries]) {
    const linked = linkedBy(readFileSync(file));
    const name = basename(file);
    if (linked.architecture !== architecture) {
      throw new InputError(`${name} for ${architecture} is made for ${linked.architecture ?? "another architecture"}`);
    }
    const missing = linked.libraries.filter((one) => !names.has(one));
    if (linked.interpreter !== undefined && !existsSync(join(system, linked.interpreter))) {
      missing.push(linked.interpreter);
    }
    if (missing.length > 0) {
      throw new InputError(
        `${name} for ${architecture} needs ${missing.join(", ")}: add its package to cli/image/pins.ts`,
      );
    }
  }
}
