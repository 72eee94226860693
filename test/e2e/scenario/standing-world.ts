import { world } from "../../label-machines/build.ts";
import type { Api } from "../harness/api-types.ts";
import { type Fields, type KubeObject, refOf, valueAt } from "../harness/objects.ts";

/** Metal3's schema wants a checksum beside each image URL, which the unit tests leave out. */
function completed(object: KubeObject): Fields {
  const { spec = {} } = object;
  const template = valueAt(spec, "template", "spec");
  if (typeof template === "object")
    return { ...spec, template: { spec: completed({ ...object, spec: template as Fields }) } };
  const image = valueAt(spec, "image");
  return typeof image === "object" ? { ...spec, image: { ...image, checksum: "0".repeat(64) } } : spec;
}

/**
 * Creates the objects of the unit tests' cluster of three single control-plane machines in a namespace of their own, as a live
 * API server has them, and returns each under `Kind/name`. No manager of Cluster API needs to run.
 *
 * @param change what each object is before it is created; undefined for one that is left out
 */
export async function createWorld(
  api: Api,
  namespace: string,
  change: (object: KubeObject) => KubeObject | undefined = (object) => object,
): Promise<ReadonlyMap<string, KubeObject>> {
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const live = new Map<string, KubeObject>();
  for (const object of (world() as readonly KubeObject[]).flatMap((one) => change(one) ?? [])) {
    const { name, labels, annotations, ownerReferences = [] } = object.metadata;
    const owners = ownerReferences.map((one) => {
      return { ...one, uid: live.get(`${one.kind}/${one.name}`)?.metadata.uid ?? one.uid };
    });
    const metadata = {
      name,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(owners.length > 0 && { ownerReferences: owners }),
    };
    const spec = object.spec && completed(object);
    const created = await api.create({ ...object, metadata, ...(spec && { spec }) });
    if (object.status !== undefined) await api.patchStatus(refOf(created), object.status);
    live.set(`${object.kind}/${name}`, created);
  }
  return live;
}
