import { z } from "zod";
import { canRefer, NAMESPACE } from "../../objects/kinds.ts";
import {
  type GroupKind,
  groupKindText,
  isTerminating,
  KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
} from "../../objects/object.ts";
import {
  type Cluster,
  ClusterError,
  type Discovery,
  type EventRecord,
  type KindVersion,
  type ListOptions,
  type MergePatch,
} from "../cluster.ts";
import { frozen } from "./frozen.ts";
import { mergePatch } from "./merge-patch.ts";
import { isSelected } from "./selector.ts";
import { createStore, revisionOf, type StoreChange } from "./store.ts";

const PAGE = 500;

/**
 * A cluster in memory, for plan, demo and tests: the same rules as an API server's, nothing is written to disk. What it
 * hands out is no copy, so it is frozen.
 */
export interface SnapshotCluster extends Cluster {
  /** Called with each change after it happened, as a watch would tell it. */
  onChange(listener: (change: StoreChange) => void): void;
  /** The Events recorded so far, oldest first. */
  events(): readonly EventRecord[];
  all(): readonly KubeObject[];
}

export interface SnapshotOptions {
  /** The clock for creation and deletion timestamps. */
  readonly now?: () => Temporal.Instant;
  /** A namespace that exists besides those that hold something: the one we run in. */
  readonly ownNamespace?: string;
}

/** @param objects what the cluster holds at first; a namespace that holds something exists, listed or not */
export function snapshotCluster(objects: readonly KubeObject[], options: SnapshotOptions = {}): SnapshotCluster {
  const { now = () => Temporal.Now.instant(), ownNamespace } = options;
  const store = createStore([...objects, ...impliedNamespaces(objects, ownNamespace)], now);
  const events = new Map<string, EventRecord>();
  // A kind once seen stays served, as its CustomResourceDefinition would stay.
  const kinds = new Map<string, Discovery["served"][number]>();
  const versions = new Map<string, KindVersion>();
  const learn = (object: KubeObject) => {
    const { apiVersion, kind } = object;
    kinds.set(groupKindText(keyOf(object)), servedAs(object));
    if (apiVersion.includes("/")) versions.set(`${apiVersion} ${kind}`, { apiVersion, kind });
  };
  for (const object of store.all()) learn(object);
  const select = (kind: GroupKind, { label, namespace, metadataOnly = false }: ListOptions = {}) =>
    store
      .of(kind)
      .filter(({ metadata }) => namespace === undefined || (metadata.namespace ?? "") === namespace)
      .filter(({ metadata }) => label === undefined || isSelected(metadata.labels ?? {}, label))
      .map((object) => (metadataOnly ? metadataOf(object) : object));

  return {
    onChange: store.onChange,
    events: () => [...events.values()],
    all: store.all,
    discover: async () => ({ served: [...kinds.values()], versions: [...versions.values()], hidden: [] }),
    get: async (key) => frozen(store.get(key)),
    exists: async (key) => store.get(key) !== undefined,
    list: async (kind, options) => select(kind, options).map((one) => frozen(one)),
    async *pages(kind, options) {
      const found = select(kind, options);
      for (let from = 0; from < found.length; from += PAGE)
        yield found.slice(from, from + PAGE).map((one) => frozen(one));
    },
    async patch(object, patch) {
      const current = expect(store.get(keyOf(object)), object);
      return frozen(store.replace(current, patched(current, patch)));
    },
    async create(object, { dryRun = false } = {}) {
      const { namespace = "" } = object.metadata;
      const home = store.get({ ...NAMESPACE, namespace: "", name: namespace });
      if (namespace !== "" && home === undefined)
        throw new ClusterError("not-found", `namespace ${namespace} not found`);
      if (home !== undefined && isTerminating(home)) {
        throw new ClusterError("forbidden", `namespace ${namespace} is being terminated`);
      }
      if (!dryRun) learn(object);
      return frozen(store.create(structuredClone(object), dryRun));
    },
    async delete(object) {
      store.remove(expect(store.get(keyOf(object)), object));
    },
    deleted: async (key, resourceVersion) => frozen(store.deletedSince(key, revisionOf(resourceVersion) - 1n)),
    async record(event) {
      events.set(`${keyText(keyOf(event.regarding))} ${event.reason} ${event.state ?? event.note}`, event);
    },
  };
}

function metadataOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata };
}

function patched(current: KubeObject, patch: MergePatch): KubeObject {
  const parsed = KubeObject.safeParse(mergePatch(current, patch));
  if (!parsed.success) throw new ClusterError("invalid", z.prettifyError(parsed.error));
  const next = parsed.data;
  const before = new Set(current.metadata.finalizers ?? []);
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (isTerminating(current) && added.length > 0) {
    throw new ClusterError("invalid", `no new finalizers can be added if the object is being deleted: ${added.join()}`);
  }
  return { ...next, metadata: { ...withoutServerFields(next.metadata), ...serverFields(current.metadata) } };
}

type Metadata = KubeObject["metadata"];

// What only the server writes; a patch that brings them along is not refused, it just has no say.
const SERVER_FIELDS = ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"] as const;

function serverFields(metadata: Metadata): Partial<Metadata> {
  return Object.fromEntries(
    SERVER_FIELDS.filter((field) => field in metadata).map((field) => [field, metadata[field]]),
  );
}

function withoutServerFields(metadata: Metadata): Metadata {
  const { uid: _u, resourceVersion: _r, creationTimestamp: _c, deletionTimestamp: _d, ...rest } = metadata;
  return rest;
}

function expect(current: KubeObject | undefined, read: KubeObject): KubeObject {
  const key = keyText(keyOf(read));
  if (current === undefined) throw new ClusterError("not-found", `${key} not found`);
  const { uid, resourceVersion } = read.metadata;
  const isSame = current.metadata.uid === uid && current.metadata.resourceVersion === resourceVersion;
  if (isSame) return current;
  throw new ClusterError("conflict", `${key} has changed since it was read`);
}

function servedAs(object: KubeObject): Discovery["served"][number] {
  const { group, kind, namespace }: ObjectKey = keyOf(object);
  const version = object.apiVersion.slice(object.apiVersion.indexOf("/") + 1);
  return {
    group,
    kind,
    version,
    plural: `${kind.toLowerCase()}s`,
    namespaced: namespace !== "" || canRefer({ group, kind }),
  };
}

function impliedNamespaces(objects: readonly KubeObject[], own = ""): readonly KubeObject[] {
  const isNamespace = (object: KubeObject) => groupKindText(keyOf(object)) === groupKindText(NAMESPACE);
  const named = new Set(objects.filter(isNamespace).map(({ metadata }) => metadata.name));
  const held = new Set([own, ...objects.map(({ metadata }) => metadata.namespace ?? "")]);
  return [...held]
    .filter((name) => name !== "" && !named.has(name))
    .map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
}
