import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "./objects.ts";
import { projectFolder } from "./paths.ts";

export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema?: { openAPIV3Schema: Record<string, unknown> };
  subresources?: Record<string, unknown>;
}

export interface Crd extends KubeObject {
  spec: {
    group: string;
    names: { kind: string; listKind?: string; plural: string; singular?: string; categories?: string[] };
    scope: "Namespaced" | "Cluster";
    versions: CrdVersion[];
    conversion?: { strategy: string };
  };
}

/** The CustomResourceDefinitions of all YAML files of a folder. Throws for a file that is no YAML. */
export function readCrds(folder: string): Crd[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), "utf8"))
      .map((document) => document.toJS() as Crd | null)
      .filter((crd) => crd?.kind === "CustomResourceDefinition"),
  ) as Crd[];
}

/** The folder with the providers' real schemas; undefined where there is none and the suite's open schemas serve. */
export function providerCrdsFolder(): string | undefined {
  const folder = resolve(projectFolder, process.env.E2E_PROVIDER_CRDS || join("..", "shared", "crds"));
  return existsSync(folder) ? folder : undefined;
}
