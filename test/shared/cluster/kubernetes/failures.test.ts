import { describe, expect, it, test } from "vitest";
import { type Cluster, ClusterError } from "../../../../shared/cluster/cluster.ts";
import { CORE } from "../../../../shared/objects/kinds.ts";
import type { KubeObject } from "../../../../shared/objects/object.ts";
import { machineSet } from "../../../build/objects.ts";
import { type Answer, clusterOn, discovery, fakeApi, status, TOKEN } from "./fake-api.ts";

const MACHINE_SET = { group: CORE, kind: "MachineSet" };
const read: KubeObject = {
  ...machineSet("m"),
  metadata: { ...machineSet("m").metadata, uid: "u1", resourceVersion: "7" },
};
const key = { ...MACHINE_SET, namespace: "sylva", name: "m" };
const served = discovery({ ...MACHINE_SET, version: "v1beta1", plural: "machinesets" });

const get = (cluster: Cluster) => cluster.get(key);
const list = (cluster: Cluster) => cluster.list(MACHINE_SET);
const patch = (cluster: Cluster) => cluster.patch(read, { metadata: { labels: { a: "b" } } });
const create = (cluster: Cluster) => cluster.create(read);
const remove = (cluster: Cluster) => cluster.delete(read);
const deleted = (cluster: Cluster) => cluster.deleted(key, "7");

const named = { name: "m", kind: "machinesets", group: CORE };
const pageNotFound: Answer = { status: 404, body: "404 page not found\n" };
const unavailable = status(503, "ServiceUnavailable");
const busy = (code: number, headers: Record<string, string> = {}): Answer => ({ status: code, headers, body: "" });

/** What an action comes to on a server that answers everything below the kind's path in this order, then the last again. */
async function outcome(act: (cluster: Cluster) => Promise<unknown>, answers: readonly Answer[], waits: number[] = []) {
  let next = 0;
  const api = await fakeApi(({ path }) => {
    if (path === "/apis") return served;
    next += 1;
    return answers[Math.min(next, answers.length) - 1] ?? "silence";
  });
  const cluster = await clusterOn(api, waits);
  try {
    const value = await act(cluster);
    return { came: Array.isArray(value) ? value.length : value && "value", calls: next, message: "" };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return { came: error.failure, calls: next, message: error.message };
  }
}

const object: Answer = { body: read };
const empty: Answer = { body: { kind: "MachineSetList", metadata: {}, items: [] } };

test.each<readonly [string, (cluster: Cluster) => Promise<unknown>, readonly Answer[], unknown, number]>([
  ["get: an object", get, [object], "value", 1],
  ["get: the server says the object is not there", get, [status(404, "NotFound", named)], undefined, 1],
  ["get: the path is unknown though the kind is served", get, [pageNotFound], "unavailable", 2],
  ["get: the path is unknown for a moment", get, [pageNotFound, object], "value", 2],
  ["get: no right", get, [status(403, "Forbidden", named)], "forbidden", 1],
  ["get: an unknown login, even with fresh credentials", get, [status(401, "Unauthorized")], "forbidden", 2],
  ["get: an unknown login, mended by fresh credentials", get, [status(401, "Unauthorized"), object], "value", 2],
  ["get: down for a moment", get, [unavailable, unavailable, object], "value", 3],
  ["get: down", get, [unavailable], "unavailable", 4],
  ["get: the connection is lost", get, ["hang up"], "unavailable", 4],
  ["get: the connection is lost once", get, ["hang up", object], "value", 2],
  ["get: busy", get, [busy(429), object], "value", 2],
  ["get: an answer of a proxy", get, [{ body: "<html>Please log in</html>" }], "unavailable", 1],
  ["get: an answer that is no object", get, [{ body: { kind: "MachineSet" } }], "unavailable", 1],
  ["get: sent elsewhere", get, [{ status: 302, body: "", headers: { location: "/login" } }], "unavailable", 1],
  ["list: none", list, [empty], 0, 1],
  ["list: no right", list, [status(403, "Forbidden", { kind: "machinesets" })], "forbidden", 1],
  ["list: down", list, [unavailable], "unavailable", 4],
  ["list: the path is unknown though the kind is served", list, [pageNotFound], "unavailable", 2],
  ["list: an answer that is no list", list, [{ body: {} }], "unavailable", 1],
  ["patch: done", patch, [object], "value", 1],
  ["patch: changed since it was read", patch, [status(409, "Conflict", named)], "conflict", 1],
  [
    "patch: another object of the same name",
    patch,
    [status(422, "Invalid", { ...named, causes: [{ field: "metadata.uid", reason: "FieldValueInvalid" }] })],
    "conflict",
    1,
  ],
  ["patch: gone", patch, [status(404, "NotFound", named)], "not-found", 1],
  ["patch: refused by validation", patch, [status(422, "Invalid", named)], "invalid", 1],
  ["patch: cannot be read", patch, [status(400, "BadRequest")], "invalid", 1],
  ["patch: the server fails, having done it or not", patch, [status(500, "InternalError")], "unavailable", 1],
  ["patch: the connection is lost, it was done or not", patch, ["hang up"], "unavailable", 1],
  ["patch: turned away unread", patch, [busy(429), object], "value", 2],
  ["create: done", create, [object], "value", 1],
  ["create: it is there", create, [status(409, "AlreadyExists", named)], "already-exists", 1],
  ["create: a conflict of another sort", create, [status(409, "Conflict", named)], "conflict", 1],
  ["create: the namespace is missing", create, [status(404, "NotFound", { name: "sylva" })], "not-found", 1],
  ["create: the namespace is Terminating", create, [status(403, "Forbidden", named)], "forbidden", 1],
  ["create: its version is not served any more", create, [pageNotFound], "unavailable", 2],
  ["create: the connection is lost, it was done or not", create, ["hang up"], "unavailable", 1],
  ["delete: done", remove, [{ body: { kind: "Status", status: "Success" } }], undefined, 1],
  ["delete: changed since it was read", remove, [status(409, "Conflict", named)], "conflict", 1],
  ["delete: gone", remove, [status(404, "NotFound", named)], "not-found", 1],
  ["deleted: compacted away, said at once", deleted, [status(410, "Expired")], "expired", 1],
  ["deleted: no right to watch", deleted, [status(403, "Forbidden")], "forbidden", 1],
])("%s", async (_, act, answers, came, calls) => {
  expect(await outcome(act, answers)).toMatchObject({ came, calls });
});

describe("waiting between attempts", () => {
  it.each<readonly [string, Answer, unknown, readonly unknown[]]>([
    ["Retry-After: 3 -> three seconds", busy(429, { "retry-after": "3" }), "value", [3000]],
    ["Retry-After: 0 -> none", busy(429, { "retry-after": "0" }), "value", [0]],
    ["Retry-After: a minute -> gives up for now", busy(429, { "retry-after": "60" }), "unavailable", []],
    ["no Retry-After -> a fraction of a second", busy(429), "value", [expect.closeTo(200, -2.5)]],
    ["503 with Retry-After: 2 -> two seconds", busy(503, { "retry-after": "2" }), "value", [2000]],
  ])("%s", async (_, answer, came, expected) => {
    const waits: number[] = [];
    expect(await outcome(get, [answer, object], waits)).toMatchObject({ came });
    expect(waits).toEqual(expected);
  });
});

it("says what was asked and what was answered, and never how it logged in", async () => {
  const { message } = await outcome(patch, [status(422, "Invalid", named)]);
  expect(message).toBe("PATCH /apis/cluster.x-k8s.io/v1beta1/namespaces/sylva/machinesets/m: 422 Invalid: Invalid!");
  for (const answer of [unavailable, "hang up", pageNotFound] as const) {
    expect((await outcome(get, [answer])).message).not.toContain(TOKEN);
  }
});

it("is told by an admission webhook that the content is wrong, not that a right is missing", async () => {
  const body = { kind: "Status", code: 403, reason: "Forbidden", message: 'admission webhook "w" denied the request' };
  expect(await outcome(create, [{ status: 403, body }])).toMatchObject({ came: "invalid" });
});

it("never writes without preconditions", async () => {
  const { uid: _, ...metadata } = read.metadata;
  const unread = { ...read, metadata };
  expect(await outcome((cluster) => cluster.patch(unread, {}), [object])).toMatchObject({ came: "invalid", calls: 0 });
  expect(await outcome((cluster) => cluster.delete(unread), [object])).toMatchObject({ came: "invalid", calls: 0 });
});

it("follows no name out of a kind's path", async () => {
  for (const name of ["..", ".", ""]) {
    expect(await outcome((cluster) => cluster.get({ ...key, name }), [object])).toMatchObject({ calls: 0 });
  }
});
