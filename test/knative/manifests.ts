import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

export const KNATIVE = join(import.meta.dirname, "../../knative");

const Strings = z.record(z.string(), z.string());

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: Strings.optional(),
    annotations: Strings.optional(),
  }),
});

export type Manifest = z.infer<typeof Manifest>;

const Kustomization = z.strictObject({
  apiVersion: z.string().startsWith("kustomize.config.k8s.io/"),
  kind: z.enum(["Kustomization", "Component"]),
  namespace: z.string().optional(),
  resources: z.array(z.string()).default([]),
  components: z.array(z.string()).default([]),
  labels: z.array(z.unknown()).optional(),
  patches: z.array(z.unknown()).default([]),
  replacements: z.array(z.unknown()).optional(),
});

/** Every object of the YAML text. Throws for what is no YAML or no Kubernetes object. */
export function parseManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return Manifest.parse(document.toJS());
  });
}

/**
 * The objects that the resources and components of these folders lead to, as they stand in their files. What patches
 * make of them is seen by the end-to-end suite, which runs kustomize itself.
 */
export function manifestsOf(...folders: readonly string[]): readonly Manifest[] {
  return [...new Set(folders.flatMap((folder) => filesOf(join(KNATIVE, folder))))].flatMap(readOnce);
}

/** The kustomization of a folder below knative/. Throws where it has a key that nothing here knows of. */
export function kustomizationOf(folder: string): z.infer<typeof Kustomization> {
  return readKustomization(join(KNATIVE, folder));
}

/** Every folder below knative/ that kustomize can be pointed at. */
export function kustomizations(below = ""): readonly string[] {
  const folders = readdirSync(join(KNATIVE, below), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const here = existsSync(join(KNATIVE, below, "kustomization.yaml")) ? [below] : [];
  return [...here, ...folders.flatMap(({ name }) => kustomizations(join(below, name)))];
}

/** The provider components, one per provider and version of its API. */
export const COMPONENTS = kustomizations("components").filter((folder) => !folder.startsWith("components/access/"));

/** Base and every provider, each once in its newest version. */
export function everything(): readonly Manifest[] {
  const newest = new Map(COMPONENTS.toSorted().map((folder) => [folder.replace(/-v\w+$/, ""), folder]));
  return manifestsOf("base", ...newest.values());
}

/** Those of a schema's kind, read by it. Throws where one is not as the schema says. */
export function ofKind<Schema extends z.ZodType>(
  manifests: readonly Manifest[],
  kind: string,
  schema: Schema,
): readonly z.infer<Schema>[] {
  return manifests.filter((one) => `${one.kind}.${groupOf(one)}` === kind).map((one) => schema.parse(one));
}

function groupOf({ apiVersion }: Manifest): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

const read = new Map<string, readonly Manifest[]>();

function readOnce(file: string): readonly Manifest[] {
  const known = read.get(file) ?? parseManifests(readFileSync(file, "utf8"));
  read.set(file, known);
  return known;
}

function filesOf(folder: string): readonly string[] {
  const { resources, components } = readKustomization(folder);
  return [...resources, ...components].flatMap((name) =>
    name.endsWith(".yaml") ? [join(folder, name)] : filesOf(join(folder, name)),
  );
}

function readKustomization(folder: string): z.infer<typeof Kustomization> {
  const [document] = parseAllDocuments(readFileSync(join(folder, "kustomization.yaml"), "utf8"));
  return Kustomization.parse(document?.toJS());
}
