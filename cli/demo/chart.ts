import type { Cluster } from "../../shared/cluster/cluster.ts";
import { templatesNamedBy } from "../../shared/graph/references.ts";
import { CONTROL_PLANE, CORE, INFRASTRUCTURE } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { isRecord } from "../../shared/objects/path.ts";
import { mustGet, type Sources, sampleKey } from "./machines.ts";

/** The owners whose templates the chart names by a hash of their content. */
export const OWNERS: readonly ObjectKey[] = [
  sampleKey(CONTROL_PLANE, "KubeadmControlPlane", "mgmt-cp"),
  sampleKey(CORE, "MachineDeployment", "mgmt-md0"),
  sampleKey(CORE, "MachineDeployment", "mgmt-md1"),
];

/** Every template that the chart renders at one time. */
export async function rendered(cluster: Cluster): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for (const owner of OWNERS) {
    const named = templatesNamedBy(await mustGet(cluster, owner));
    for (const key of named) {
      const template = await mustGet(cluster, key);
      found.push(template);
      for (const next of templatesNamedBy(template)) found.push(await mustGet(cluster, next));
    }
  }
  return found;
}

/**
 * What `helm upgrade` does to hash-named templates: creates those with new names, switches the specs to them, deletes
 * those that are no longer rendered.
 *
 * @param rename the new name of each template, from its old one
 */
export async function helmUpgrade(cluster: Cluster, rename: (name: string) => string): Promise<void> {
  const before = await rendered(cluster);
  for (const template of before) await createRenamed(cluster, template, rename);
  for (const owner of OWNERS) {
    const live = await mustGet(cluster, owner);
    await cluster.patch(live, { spec: renamedReferences(live.spec, rename) });
  }
  for (const template of before) {
    const live = await cluster.get(keyOf(template));
    if (live !== undefined && !live.metadata.deletionTimestamp) await cluster.delete(live);
  }
}

async function createRenamed(cluster: Cluster, template: KubeObject, rename: (name: string) => string): Promise<void> {
  const key = { ...keyOf(template), name: rename(template.metadata.name) };
  // A name that stands already is adopted; Helm does not mind that it is Terminating.
  if ((await cluster.get(key)) !== undefined) return;
  const { labels, annotations, namespace, ownerReferences } = template.metadata;
  const ours = Object.entries(annotations ?? {}).filter(([name]) => !name.startsWith("capi-caretaker.io/"));
  const kept = Object.entries(labels ?? {}).filter(([name]) => !name.startsWith("capi-caretaker.io/"));
  await cluster.create({
    apiVersion: template.apiVersion,
    kind: template.kind,
    metadata: {
      name: key.name,
      namespace,
      labels: Object.fromEntries(kept),
      annotations: Object.fromEntries(ours),
      ownerReferences,
    },
    spec: renamedReferences(template.spec, rename),
  });
}

/** A copy of `value` in which every reference to a template, and to a data template, has its new name. */
function renamedReferences(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamedReferences(item, rename));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([field, inner]) => {
    const isName = field === "name" && typeof inner === "string" && namesTemplate(value);
    if (isName) return [field, rename(inner)] as const;
    if (field === "dataTemplate" && isRecord(inner)) {
      return [field, { ...inner, name: rename(String(inner.name)) }] as const;
    }
    return [field, renamedReferences(inner, rename)] as const;
  });
  return Object.fromEntries(entries);
}

function namesTemplate({ kind }: Record<string, unknown>): boolean {
  return typeof kind === "string" && kind.endsWith("Template");
}

/** The templates that an owner's machines are cloned from now. */
export async function sourcesOf(cluster: Cluster, owner: ObjectKey): Promise<Sources> {
  const named = templatesNamedBy(await mustGet(cluster, owner));
  const infrastructure = named.find(({ group }) => group === INFRASTRUCTURE);
  if (infrastructure === undefined) throw new Error(`${owner.kind} ${owner.name} names no infrastructure template`);
  return { infrastructure, bootstrap: named.find(({ group }) => group !== INFRASTRUCTURE) };
}
