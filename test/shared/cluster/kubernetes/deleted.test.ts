import { describe, expect, it, test } from "vitest";
import { INFRASTRUCTURE } from "../../../../shared/objects/kinds.ts";
import { metal3MachineTemplate } from "../../../build/objects.ts";
import { type Answer, clusterOn, discovery, fakeApi } from "./fake-api.ts";

const TEMPLATE = { group: INFRASTRUCTURE, kind: "Metal3MachineTemplate" };
const key = { ...TEMPLATE, namespace: "sylva", name: "t" };
const isDiscovery = (call: string) => /^GET \/apis(\/[^/]+){0,2}$/.test(call);
const served = discovery({ ...TEMPLATE, version: "v1beta1", plural: "metal3machinetemplates" });

const event = (type: string, uid: string, name = "t") => {
  const object = metal3MachineTemplate(name);
  return JSON.stringify({ type, object: { ...object, metadata: { ...object.metadata, uid, resourceVersion: "42" } } });
};
const failure = (code: number, reason: string) =>
  JSON.stringify({ type: "ERROR", object: { kind: "Status", code, reason, message: `${reason}!` } });
const bookmark = JSON.stringify({ type: "BOOKMARK", object: { kind: "Metal3MachineTemplate", metadata: {} } });

/** The uid of what is told deleted, or why nothing is, by a server whose watch tells these lines. */
async function told(...lines: readonly string[]) {
  const api = await fakeApi(({ path }) => (path === "/apis" ? served : { body: lines.map((l) => `${l}\n`).join("") }));
  const cluster = await clusterOn(api);
  return cluster.deleted(key, "42").then(
    (object) => object?.metadata.uid,
    (error) => error.failure,
  );
}

test.each<readonly [string, readonly string[], string | undefined]>([
  ["nothing -> none", [], undefined],
  ["changes only -> none", [event("ADDED", "a"), event("MODIFIED", "a"), bookmark], undefined],
  ["deleted -> it", [event("DELETED", "a")], "a"],
  ["deleted and created again -> the deleted one", [event("DELETED", "a"), event("ADDED", "b")], "a"],
  ["deleted twice -> the later", [event("DELETED", "a"), event("ADDED", "b"), event("DELETED", "b")], "b"],
  ["another one deleted -> none", [event("DELETED", "a", "u")], undefined],
  ["no longer remembered -> expired", [failure(410, "Expired")], "expired"],
  ["no longer remembered, in the older word -> expired", [failure(410, "Gone")], "expired"],
  ["failing -> unavailable", [failure(500, "InternalError")], "unavailable"],
  ["something unknown -> unavailable", ['{"type":"NEWS"}'], "unavailable"],
  ["no JSON -> unavailable", ["<html>"], "unavailable"],
])("a watch that tells: %s", async (_, lines, expected) => {
  expect(await told(...lines)).toBe(expected);
});

it("asks from just before the deletion, for this one object, for a moment", async () => {
  const api = await fakeApi(({ path }) => (path === "/apis" ? served : { body: `${event("DELETED", "a")}\n` }));
  await (await clusterOn(api)).deleted(key, "1000000000000000000");
  expect(api.asked[2]).toMatchObject({
    path: "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/sylva/metal3machinetemplates",
    query: {
      watch: "1",
      timeoutSeconds: "2",
      fieldSelector: "metadata.name=t",
      resourceVersion: "999999999999999999",
    },
  });
});

describe("no server gives this resourceVersion, so nothing is asked", () => {
  it.each(["", "0", "1", "-5", "abc", "1e9", "99999999999999999999"])("%j", async (resourceVersion) => {
    const api = await fakeApi(() => served);
    expect(await (await clusterOn(api)).deleted(key, resourceVersion)).toBeUndefined();
    expect(api.calls().filter((call) => !isDiscovery(call))).toEqual([]);
  });
});

it("does not wait for the end of the watch once the deletion is told", async () => {
  const open = { headers: { "content-length": "1000000" }, body: `${event("DELETED", "a")}\n` } satisfies Answer;
  const api = await fakeApi(({ path }) => (path === "/apis" ? served : open));
  const deleted = await (await clusterOn(api)).deleted(key, "42");
  expect(deleted?.metadata.uid).toBe("a");
});

it("asks again when the connection breaks before anything was told", async () => {
  const api = await fakeApi(({ path }, count) => {
    if (path === "/apis") return served;
    return count === 2 ? "hang up" : { body: `${event("DELETED", "a")}\n` };
  });
  expect((await (await clusterOn(api)).deleted(key, "42"))?.metadata.uid).toBe("a");
});
