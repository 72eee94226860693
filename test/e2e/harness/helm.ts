import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { type Outcome, run } from "./command.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Fields } from "./objects.ts";
import { binary } from "./paths.ts";

import { runFolder } from "./run-folder.ts";

/** Runs Helm 3 or 4 with a home of its own. An exit code other than 0 is not thrown, but given back. */
export function helm(major: 3 | 4, controlPlane: ControlPlane, args: readonly string[]): Promise<Outcome> {
  const home = runFolder(`helm${major}-home`);
  return run(binary(`helm${major}`), args, {
    env: {
      KUBECONFIG: controlPlane.kubeconfig,
      HELM_CACHE_HOME: join(home, "cache"),
      HELM_CONFIG_HOME: join(home, "config"),
      HELM_DATA_HOME: join(home, "data"),
    },
  });
}

export interface Chart {
  name: string;
  /** The chart's version, which charts use to put into a `helm.sh/chart` label; 0.1.0 by default. */
  version?: string;
  /** File name under templates/ to its text. */
  templates: Record<string, string>;
  values?: Fields;
}

/** Writes a chart into the run's folder, in place of one of the same name, and returns its path. */
export function writeChart({ name, version = "0.1.0", templates, values = {} }: Chart): string {
  const folder = runFolder("charts", name);
  rmSync(join(folder, "templates"), { recursive: true, force: true });
  mkdirSync(join(folder, "templates"));
  writeFileSync(join(folder, "Chart.yaml"), stringify({ apiVersion: "v2", name, version, type: "application" }));
  writeFileSync(join(folder, "values.yaml"), stringify(values));
  for (const [file, text] of Object.entries(templates)) writeFileSync(join(folder, "templates", file), text);
  return folder;
}
