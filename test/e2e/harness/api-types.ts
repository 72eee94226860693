import type { Call, Server } from "./http.ts";
import type { Fields, Kind, KubeObject, ObjectRef } from "./objects.ts";

export interface WatchEvent<T extends KubeObject = KubeObject> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T;
}

export interface Selection extends Kind {
  /** All namespaces when left out. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export type JsonPatch = (
  | { op: "add" | "replace" | "test"; path: string; value: unknown }
  | { op: "remove"; path: string }
)[];

/** A small client of the Kubernetes API for tests; it shares no code with the project, because it judges it. */
export interface Api {
  server: Server;
  /** Sends a request as it is and gives back whatever is answered. */
  raw(call: Call): Promise<{ status: number; body: string }>;
  /** The object, or undefined when there is none. */
  get<T extends KubeObject = KubeObject>(ref: ObjectRef): Promise<T | undefined>;
  list<T extends KubeObject = KubeObject>(selection: Selection): Promise<T[]>;
  /** A list with its resourceVersion, from which a watch goes on. */
  listAt<T extends KubeObject = KubeObject>(selection: Selection): Promise<{ items: T[]; resourceVersion: string }>;
  create<T extends KubeObject = KubeObject>(object: T): Promise<T>;
  /** Server-side apply; forces conflicts unless told not to. */
  apply<T extends KubeObject = KubeObject>(
    object: T,
    options?: { fieldManager?: string; force?: boolean; subresource?: string },
  ): Promise<T>;
  /** The whole object, replaced (PUT). */
  replace<T extends KubeObject = KubeObject>(object: T): Promise<T>;
  mergePatch<T extends KubeObject = KubeObject>(ref: ObjectRef, patch: Fields, subresource?: string): Promise<T>;
  jsonPatch<T extends KubeObject = KubeObject>(ref: ObjectRef, patch: JsonPatch, subresource?: string): Promise<T>;
  /** Merge-patches the status of an object. */
  patchStatus<T extends KubeObject = KubeObject>(ref: ObjectRef, status: Fields): Promise<T>;
  /** Asks for deletion; no error when there is none. `options` is a DeleteOptions body. */
  delete(ref: ObjectRef, options?: Fields): Promise<void>;
  /** Asks for deletion of all that is selected. */
  deleteAll(selection: Selection): Promise<void>;
  /** Yields events until the server closes the watch or the signal aborts it. An ERROR event is yielded like others. */
  watch(
    selection: Selection & { resourceVersion?: string; timeoutSeconds?: number },
    signal?: AbortSignal,
  ): AsyncGenerator<WatchEvent>;
}
