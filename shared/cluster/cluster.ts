import type { GroupKind, KubeObject, ObjectKey } from "../objects/object.ts";

/** A kind as a cluster serves it, under its preferred version. */
export interface ServedKind extends GroupKind {
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** A kind at one of the versions that serve it. */
export interface KindVersion {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Discovery {
  /** Every served kind, once, at its preferred version. */
  readonly served: readonly ServedKind[];
  /** Every served kind outside the core group, at each of its versions; those of one kind in the order of preference. */
  readonly versions: readonly KindVersion[];
  /** Kinds that exist (their CustomResourceDefinition does) but are served under no version: their objects are hidden. */
  readonly hidden: readonly { readonly group: string; readonly plural: string }[];
}

export interface ListOptions {
  /** Ask for metadata alone: `spec` and `status` may be missing from the answer. */
  readonly metadataOnly?: boolean;
  /** `metadata.managedFields`, up to half of an object, is of no use: it may be missing from the answer. */
  readonly withoutManagedFields?: boolean;
  /** Only objects that carry these labels: a key, or `key=value`, with commas between several. */
  readonly label?: string;
  readonly namespace?: string;
}

/** An RFC 7386 merge patch; `null` removes a field. */
export type MergePatch = { readonly [field: string]: unknown };

/** What a person reads with `kubectl describe`: an events.k8s.io Event on `regarding`. */
export interface EventRecord {
  readonly regarding: KubeObject;
  readonly type: "Normal" | "Warning";
  /** UpperCamelCase, for machines. */
  readonly reason: string;
  /** The verb that was done or refused, UpperCamelCase. */
  readonly action: string;
  readonly note: string;
  /** What makes this the same state when it is told again, however the note has changed; the note itself by default. */
  readonly state?: string;
}

/** Why a request was not carried out. */
export type ClusterFailure =
  | "conflict" // a precondition (uid, resourceVersion) did not hold
  | "not-found"
  | "already-exists"
  | "invalid" // the server refuses this content: validation or admission
  | "forbidden"
  | "expired" // the asked resourceVersion is compacted away
  | "unavailable"; // timeouts, 429, 5xx, connection loss: trying again may help

export class ClusterError extends Error {
  readonly failure: ClusterFailure;
  constructor(failure: ClusterFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ClusterError";
    this.failure = failure;
  }
}

/** True when `error` is a ClusterError with one of these failures. */
export function failedWith(error: unknown, ...failures: readonly ClusterFailure[]): error is ClusterError {
  return error instanceof ClusterError && failures.includes(error.failure);
}

/**
 * The one way to a cluster. Every method may throw a ClusterError; `get` and `list` read the latest state, never a
 * cache. Writes carry the field manager `capi-caretaker`; patch and delete take the object as it was last read, and
 * its uid and resourceVersion are the preconditions ("conflict" where they no longer hold).
 */
export interface Cluster {
  discover(): Promise<Discovery>;
  /** The object, or undefined when it (or its kind) is not there. */
  get(key: ObjectKey): Promise<KubeObject | undefined>;
  /** Whether the object is there, told without any of its content. */
  exists(key: ObjectKey): Promise<boolean>;
  /** All objects of a kind; an empty list when the kind is not served; "forbidden" or "unavailable" when it is but cannot be read. */
  list(kind: GroupKind, options?: ListOptions): Promise<readonly KubeObject[]>;
  /**
   * What `list` answers, a page at a time, so that no more than one need be held. Nothing is sent before the first page
   * is asked for. All pages are of one state; where that is compacted away in between it throws "expired".
   */
  pages(kind: GroupKind, options?: ListOptions): AsyncIterable<readonly KubeObject[]>;
  /** The patched object; undefined when the patch took its last finalizer and it is gone. */
  patch(object: KubeObject, patch: MergePatch): Promise<KubeObject | undefined>;
  /** The created object; with `dryRun` nothing is stored, but admission and "already-exists" are as for real. */
  create(object: KubeObject, options?: { readonly dryRun?: boolean }): Promise<KubeObject>;
  /** Asks for the deletion (background propagation); the object stays, Terminating, while it has finalizers. */
  delete(object: KubeObject): Promise<void>;
  /**
   * The last state of a deleted object as the API server itself tells it, read from just before `resourceVersion`
   * (that of its deletion); undefined when it saw no deletion since; "expired" when it no longer remembers.
   */
  deleted(key: ObjectKey, resourceVersion: string): Promise<KubeObject | undefined>;
  /** Records an Event. The same reason and state on the same object is recorded once. */
  record(event: EventRecord): Promise<void>;
}
