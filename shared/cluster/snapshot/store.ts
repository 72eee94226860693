import { isDeepStrictEqual } from "node:util";
import { FIELD_MANAGER, timestamp } from "../../marks/marks.ts";
import {
  type GroupKind,
  isTerminating,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
} from "../../objects/object.ts";
import { ClusterError } from "../cluster.ts";

/** What a watch on the API server would tell. A deleted object's resourceVersion is that of its deletion. */
export interface StoreChange {
  readonly type: "add" | "update" | "delete";
  readonly object: KubeObject;
}

/** Objects in memory with the API server's rules for uid, resourceVersion, finalizers and deletionTimestamp. */
export interface Store {
  all(): readonly KubeObject[];
  of(kind: GroupKind): readonly KubeObject[];
  get(key: ObjectKey): KubeObject | undefined;
  /** Refuses with "already-exists"; `dryRun` checks and stores nothing. */
  create(object: KubeObject, dryRun?: boolean): KubeObject;
  /** Puts `next` in the place of `current`; undefined when that took the last finalizer of a Terminating object. */
  replace(current: KubeObject, next: KubeObject): KubeObject | undefined;
  remove(current: KubeObject): void;
  /** The last state of the object deleted under this key after `resourceVersion`. */
  deletedSince(key: ObjectKey, resourceVersion: bigint): KubeObject | undefined;
  onChange(listener: (change: StoreChange) => void): void;
}

export function createStore(initial: readonly KubeObject[], now: () => Temporal.Instant): Store {
  const byKind = new Map<string, Map<string, KubeObject>>();
  const deletions: KubeObject[] = [];
  const listeners: ((change: StoreChange) => void)[] = [];
  let revision = initial.reduce((highest, { metadata }) => max(highest, revisionOf(metadata.resourceVersion)), 0n);

  const get = (key: ObjectKey) => byKind.get(kindText(key))?.get(within(key));
  const put = (object: KubeObject) => {
    const key = keyOf(object);
    byKind.getOrInsertComputed(kindText(key), () => new Map()).set(within(key), object);
  };
  const stamp = (object: KubeObject): KubeObject => {
    revision += 1n;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
  };
  const tell = (type: StoreChange["type"], object: KubeObject) => {
    for (const listener of listeners) listener({ type, object });
  };
  const forget = (object: KubeObject) => {
    const last = stamp(object);
    const key = keyOf(object);
    byKind.get(kindText(key))?.delete(within(key));
    deletions.push(last);
    tell("delete", last);
  };

  for (const object of initial) {
    const { uid = crypto.randomUUID(), resourceVersion } = object.metadata;
    if (resourceVersion === undefined) revision += 1n;
    put({ ...object, metadata: { ...object.metadata, uid, resourceVersion: resourceVersion ?? String(revision) } });
  }

  return {
    all: () => [...byKind.values()].flatMap((objects) => [...objects.values()]),
    of: (kind) => [...(byKind.get(kindText(kind))?.values() ?? [])],
    get,
    create(object, dryRun = false) {
      const key = keyOf(object);
      if (get(key) !== undefined) throw new ClusterError("already-exists", `${keyText(key)} already exists`);
      const born = {
        ...object,
        metadata: { ...object.metadata, uid: crypto.randomUUID(), creationTimestamp: timestamp(now()) },
      };
      delete born.metadata.deletionTimestamp;
      born.metadata.managedFields ??= [{ manager: FIELD_MANAGER, operation: "Update", fieldsV1: { "f:spec": {} } }];
      if (dryRun) return born;
      const created = stamp(born);
      put(created);
      tell("add", created);
      return created;
    },
    replace(current, next) {
      if (isDeepStrictEqual(current, next)) return current;
      if (isTerminating(next) && (next.metadata.finalizers ?? []).length === 0) {
        forget(next);
        return undefined;
      }
      const stored = stamp(next);
      put(stored);
      tell("update", stored);
      return stored;
    },
    remove(current) {
      if ((current.metadata.finalizers ?? []).length === 0) return forget(current);
      if (isTerminating(current)) return;
      this.replace(current, {
        ...current,
        metadata: { ...current.metadata, deletionTimestamp: timestamp(now()), deletionGracePeriodSeconds: 0 },
      });
    },
    deletedSince: (key, resourceVersion) =>
      deletions.findLast(
        (object) =>
          keyText(keyOf(object)) === keyText(key) && revisionOf(object.metadata.resourceVersion) > resourceVersion,
      ),
    onChange: (listener) => void listeners.push(listener),
  };
}

/** A resourceVersion as a number to compare; 0 where it is none. */
export function revisionOf(resourceVersion: string | undefined): bigint {
  return resourceVersion !== undefined && /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}

function kindText({ group, kind }: GroupKind): string {
  return `${group}/${kind}`;
}

/** What names an object among those of its kind. */
function within({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
