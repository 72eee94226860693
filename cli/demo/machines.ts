import type { Cluster } from "../../shared/cluster/cluster.ts";
import { annotation, CLONED_FROM_GROUPKIND, CLONED_FROM_NAME, CLUSTER_NAME } from "../../shared/marks/marks.ts";
import { BOOTSTRAP, CORE, INFRASTRUCTURE } from "../../shared/objects/kinds.ts";
import { groupKindText, type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { stringAt } from "../../shared/objects/path.ts";

const CLUSTER = "mgmt";
export const NAMESPACE_NAME = "sylva-system";
const METAL3_FINALIZER = "metal3machine.infrastructure.cluster.x-k8s.io";

/** The key of an object of the sample. */
export function sampleKey(group: string, kind: string, name: string): ObjectKey {
  return { group, kind, namespace: NAMESPACE_NAME, name };
}

/** Throws when the object is not there: the story went wrong. */
export async function mustGet(cluster: Cluster, key: ObjectKey): Promise<KubeObject> {
  const object = await cluster.get(key);
  if (object === undefined) throw new Error(`${key.kind} ${key.name} is not there`);
  return object;
}

/** The templates a machine is made from. */
export interface Sources {
  readonly infrastructure: ObjectKey;
  /** Undefined for control planes, whose bootstrap configs come from no template. */
  readonly bootstrap: ObjectKey | undefined;
}

/** Makes a machine as Cluster API and Metal3 would; false when a template that it is to be cloned from is gone. */
export async function makeMachine(cluster: Cluster, name: string, owner: KubeObject, from: Sources): Promise<boolean> {
  const template = await cluster.get(from.infrastructure);
  const isBootstrapThere = from.bootstrap === undefined || (await cluster.get(from.bootstrap)) !== undefined;
  if (template === undefined || !isBootstrapThere) return false;
  const dataTemplate = stringAt(template, "spec.template.spec.dataTemplate.name") ?? "";
  const bootstrapKind = from.bootstrap?.kind.replace(/Template$/, "") ?? "KubeadmConfig";
  const { apiVersion, kind, metadata } = owner;
  const controller = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
  await cluster.create({
    ...shaped(`${CORE}/v1beta2`, "Machine", name),
    metadata: { ...shaped("", "", name).metadata, ownerReferences: [controller] },
    spec: {
      clusterName: CLUSTER,
      infrastructureRef: { apiGroup: INFRASTRUCTURE, kind: "Metal3Machine", name },
      bootstrap: { configRef: { apiGroup: BOOTSTRAP, kind: bootstrapKind, name } },
    },
  });
  await cluster.create(clone(`${BOOTSTRAP}/v1beta2`, bootstrapKind, name, from.bootstrap, [], {}));
  await cluster.create(
    clone(`${INFRASTRUCTURE}/v1beta1`, "Metal3Machine", name, from.infrastructure, [METAL3_FINALIZER], {
      dataTemplate: { name: dataTemplate },
    }),
  );
  const template2 = { name: dataTemplate, namespace: NAMESPACE_NAME };
  const data = shaped(`${INFRASTRUCTURE}/v1beta1`, "Metal3Data", `${name}-data`);
  await cluster.create({ ...data, spec: { template: template2, claim: { name, namespace: NAMESPACE_NAME } } });
  const claim = shaped(`${INFRASTRUCTURE}/v1beta1`, "Metal3DataClaim", name);
  await cluster.create({ ...claim, spec: { template: template2 } });
  return true;
}

/**
 * Deletes a machine as Cluster API and Metal3 would. At the end of deprovisioning Metal3 reads the template the
 * machine came from; only with its `nodeReuse` is the same host picked again, else a random one is, and wiped.
 *
 * Returns whether the host is reused. `during` runs while the machine is Terminating.
 */
export async function deleteMachine(cluster: Cluster, name: string, during: () => Promise<void>): Promise<boolean> {
  const machine = await mustGet(cluster, sampleKey(CORE, "Machine", name));
  const metal3Key = sampleKey(INFRASTRUCTURE, "Metal3Machine", name);
  await cluster.delete(await mustGet(cluster, metal3Key));
  await during();
  const leaving = await mustGet(cluster, metal3Key);
  const from = annotation(leaving, CLONED_FROM_NAME) ?? "";
  const template = await cluster.get(sampleKey(INFRASTRUCTURE, "Metal3MachineTemplate", from));
  const isReused = (template?.spec as { nodeReuse?: boolean } | undefined)?.nodeReuse === true;
  for (const kind of ["Metal3Data", "Metal3DataClaim"]) {
    for (const object of await cluster.list({ group: INFRASTRUCTURE, kind })) {
      const isItsOwn = object.metadata.name === name || stringAt(object, "spec.claim.name") === name;
      if (isItsOwn) await cluster.delete(object);
    }
  }
  await cluster.patch(await mustGet(cluster, metal3Key), { metadata: { finalizers: null } });
  const kind = stringAt(machine, "spec.bootstrap.configRef.kind") ?? "";
  await cluster.delete(await mustGet(cluster, sampleKey(BOOTSTRAP, kind, name)));
  await cluster.delete(machine);
  return isReused;
}

function shaped(apiVersion: string, kind: string, name: string): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE_NAME, labels: { [CLUSTER_NAME]: CLUSTER } } };
}

function clone(
  apiVersion: string,
  kind: string,
  name: string,
  from: ObjectKey | undefined,
  finalizers: string[],
  spec: Record<string, unknown>,
): KubeObject {
  const object = shaped(apiVersion, kind, name);
  const annotations = from && { [CLONED_FROM_NAME]: from.name, [CLONED_FROM_GROUPKIND]: groupKindText(from) };
  return { ...object, metadata: { ...object.metadata, finalizers, ...(annotations && { annotations }) }, spec };
}

/** The names of the machines that this owner controls. */
export async function machinesOf(cluster: Cluster, owner: ObjectKey): Promise<readonly string[]> {
  const machines = await cluster.list({ group: CORE, kind: "Machine" });
  return machines
    .filter(({ metadata }) =>
      metadata.ownerReferences?.some((one) => one.kind === owner.kind && one.name === owner.name),
    )
    .map((machine) => keyOf(machine).name);
}
