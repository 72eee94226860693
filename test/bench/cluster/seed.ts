import { groupOf, type KubeObject, pluralOf } from "../../e2e/harness/objects.ts";

/** etcd takes 128 operations in a transaction. */
const BATCH = 120;
const AT_ONCE = 4;

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Where kube-apiserver keeps a custom resource (apiextensions-apiserver pkg/registry/customresource). */
function keyOf({ apiVersion, kind, metadata }: KubeObject): string {
  return `/registry/${groupOf(apiVersion)}/${pluralOf(kind)}/${metadata.namespace}/${metadata.name}`;
}

async function putAll(etcdUrl: string, objects: readonly KubeObject[]): Promise<void> {
  const success = objects.map((object) => ({
    requestPut: { key: base64(keyOf(object)), value: base64(JSON.stringify(object)) },
  }));
  const response = await fetch(`${etcdUrl}/v3/kv/txn`, { method: "POST", body: JSON.stringify({ success }) });
  const answer = await response.text();
  if (!response.ok) throw new Error(`etcd does not take the objects: ${response.status} ${answer.slice(0, 300)}`);
}

/**
 * Writes custom resources straight into the etcd of an API server, which stores them as the JSON they are; its caches follow.
 * Returns how many it wrote. Throws where etcd refuses any.
 */
export async function seed(etcdUrl: string, objects: Iterable<KubeObject>): Promise<number> {
  const source = objects[Symbol.iterator]();
  let written = 0;
  const worker = async (): Promise<void> => {
    for (let batch = take(source, BATCH); batch.length > 0; batch = take(source, BATCH)) {
      await putAll(etcdUrl, batch);
      written += batch.length;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return written;
}

function take<Item>(source: Iterator<Item>, count: number): Item[] {
  const taken: Item[] = [];
  while (taken.length < count) {
    const { done, value } = source.next();
    if (done === true) break;
    taken.push(value);
  }
  return taken;
}
