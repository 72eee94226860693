import type { Api, Selection, WatchEvent } from "./api-types.ts";
import { agentFor, type Call, linesOf, type Server, send, textOf } from "./http.ts";
import { type Fields, type Kind, type KubeObject, type ObjectRef, pluralOf, refOf } from "./objects.ts";

/** An answer of the API server that is no success. */
export class ApiError extends Error {
  readonly status: number;
  /** Kubernetes' reason, such as NotFound or Conflict. */
  readonly reason: string;
  constructor(call: string, status: number, body: string) {
    const said = parsed(body);
    super(`${call}: ${status} ${typeof said.message === "string" ? said.message : body.slice(0, 500)}`);
    this.status = status;
    this.reason = typeof said.reason === "string" ? said.reason : "";
  }
}

function parsed(body: string): Fields {
  try {
    return JSON.parse(body) as Fields;
  } catch {
    return {};
  }
}

function pathOf(
  { apiVersion, kind, namespace }: Kind & { namespace?: string },
  name?: string,
  subresource?: string,
): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const rest = [name, subresource].filter((part) => part !== undefined).map((part) => `/${part}`);
  return `${root}${scope}/${pluralOf(kind)}${rest.join("")}`;
}

function query(values: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}

/** Makes a client of an API server. */
export function apiOf(server: Server): Api {
  const agent = agentFor(server);
  const raw = async (call: Call): Promise<{ status: number; body: string }> => {
    const response = await send(server, agent, call);
    return { status: response.statusCode ?? 0, body: await textOf(response) };
  };
  const json = async <T>(call: Call): Promise<T> => {
    const { status, body } = await raw(call);
    if (status < 200 || status > 299) throw new ApiError(`${call.method ?? "GET"} ${call.path}`, status, body);
    return JSON.parse(body) as T;
  };
  const patch = <T extends KubeObject>(ref: ObjectRef, type: string, body: unknown, subresource?: string): Promise<T> =>
    json({
      method: "PATCH",
      path: pathOf(ref, ref.name, subresource),
      contentType: `application/${type}+json`,
      body: JSON.stringify(body),
    });
  const listAt = async <T extends KubeObject>(
    selection: Selection,
  ): Promise<{ items: T[]; resourceVersion: string }> => {
    const { labelSelector, fieldSelector, apiVersion, kind } = selection;
    const path = pathOf(selection) + query({ labelSelector, fieldSelector });
    const { items, metadata } = await json<{ items: T[]; metadata: { resourceVersion: string } }>({ path });
    // A list leaves out what all its items share.
    return { items: items.map((item) => ({ ...item, apiVersion, kind })), resourceVersion: metadata.resourceVersion };
  };
  return {
    server,
    raw,
    async get<T extends KubeObject>(ref: ObjectRef) {
      try {
        return await json<T>({ path: pathOf(ref, ref.name) });
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return undefined;
        throw error;
      }
    },
    list: async <T extends KubeObject>(selection: Selection) => (await listAt<T>(selection)).items,
    listAt,
    create: (object) => json({ method: "POST", path: pathOf(refOf(object)), body: JSON.stringify(object) }),
    apply(object, { fieldManager = "e2e", force = true, subresource } = {}) {
      const path = pathOf(refOf(object), object.metadata.name, subresource) + query({ fieldManager, force });
      return json({ method: "PATCH", path, contentType: "application/apply-patch+yaml", body: JSON.stringify(object) });
    },
    replace: (object) =>
      json({ method: "PUT", path: pathOf(refOf(object), object.metadata.name), body: JSON.stringify(object) }),
    mergePatch: (ref, fields, subresource) => patch(ref, "merge-patch", fields, subresource),
    jsonPatch: (ref, operations, subresource) => patch(ref, "json-patch", operations, subresource),
    patchStatus: (ref, status) => patch(ref, "merge-patch", { status }, "status"),
    async delete(ref, options) {
      try {
        const body = options === undefined ? {} : { body: JSON.stringify(options) };
        await json({ method: "DELETE", path: pathOf(ref, ref.name), ...body });
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      }
    },
    async deleteAll(selection) {
      const { labelSelector, fieldSelector } = selection;
      await json({ method: "DELETE", path: pathOf(selection) + query({ labelSelector, fieldSelector }) });
    },
    async *watch(selection, signal) {
      const { labelSelector, fieldSelector, resourceVersion, timeoutSeconds } = selection;
      const path =
        pathOf(selection) + query({ watch: 1, labelSelector, fieldSelector, resourceVersion, timeoutSeconds });
      const response = await send(server, agent, { path, ...(signal === undefined ? {} : { signal }) });
      if (response.statusCode !== 200)
        throw new ApiError(`WATCH ${path}`, response.statusCode ?? 0, await textOf(response));
      for await (const line of linesOf(response, signal)) yield JSON.parse(line) as WatchEvent;
    },
  };
}
