import type { Settings } from "../../setup/settings.ts";
import { type Cluster, failedWith } from "../cluster.ts";
import { isUnknownPath } from "./api-error.ts";
import { lastDeletion } from "./deleted.ts";
import { objectExists } from "./exists.ts";
import { createKinds } from "./kinds.ts";
import { listObjects, pagesOf, readObject } from "./list.ts";
import { loadLogin } from "./load-login.ts";
import { objectPath } from "./paths.ts";
import { recordEvent } from "./record.ts";
import { createRequest, jsonOf, type Wait } from "./request.ts";
import { createTransport } from "./transport.ts";
import { createObject, deleteObject, patchObject } from "./write.ts";

/**
 * The cluster whose API server a kubeconfig names, or the one this program runs in.
 *
 * Nothing is sent before the first call, or `soon`. Throws an InputError when there is no configuration that can be read.
 *
 * @param wait passes the time between two attempts of a call
 * @param soon when the connection may be made, with its TLS session, so that the first call finds it there
 */
export async function kubernetesCluster(
  settings: Pick<Settings, "kubeconfig">,
  wait?: Wait,
  soon?: Promise<void>,
): Promise<Cluster> {
  const transport = await createTransport(() => loadLogin(settings.kubeconfig));
  const request = createRequest(transport, wait);
  const kinds = createKinds(request);
  // A connection that fails now is told by the first call that needs it.
  soon?.then(() => request({ method: "GET", path: "/version" }, jsonOf)).catch(() => undefined);
  return {
    discover: kinds.discover,
    get: (key) =>
      kinds.on(
        key,
        async (kind) => {
          if (kind.namespaced && key.namespace === "") return undefined;
          try {
            return readObject(await request({ method: "GET", path: objectPath(kind, key) }, jsonOf));
          } catch (error) {
            if (failedWith(error, "not-found") && !isUnknownPath(error)) return undefined;
            throw error;
          }
        },
        undefined,
      ),
    exists: (key) => kinds.on(key, (kind) => objectExists(request, kind, key), false),
    list: (kind, options) => kinds.on(kind, (served) => listObjects(request, served, options), []),
    async *pages(kind, options) {
      const first = await kinds.on(
        kind,
        async (served) => {
          const pages = pagesOf(request, served, options);
          return { pages, page: await pages.next() };
        },
        undefined,
      );
      if (first?.page.done !== false) return;
      yield first.page.value;
      yield* first.pages;
    },
    patch: (object, patch) => patchObject(request, kinds, object, patch),
    create: (object, { dryRun = false } = {}) => createObject(request, kinds, object, dryRun),
    delete: (object) => deleteObject(request, kinds, object),
    deleted: (key, resourceVersion) =>
      kinds.on(key, (kind) => lastDeletion(request, kind, key, resourceVersion), undefined),
    record: (event) => recordEvent(request, event, Temporal.Now.instant()),
  };
}
