import { describe, expect, it } from "vitest";
import { INFRASTRUCTURE } from "../../../../shared/objects/kinds.ts";
import type { KubeObject } from "../../../../shared/objects/object.ts";
import { held, metal3MachineTemplate, namespace, terminating } from "../../../build/objects.ts";
import { type Answer, clusterOn, discovery, fakeApi, status } from "./fake-api.ts";

const PATH = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/sylva/metal3machinetemplates";
const base = metal3MachineTemplate("t");
const template: KubeObject = { ...base, metadata: { ...base.metadata, uid: "u1", resourceVersion: "7" } };

const served = discovery(
  ...["v1beta2", "v1beta1"].map((version) => ({
    group: INFRASTRUCTURE,
    kind: "Metal3MachineTemplate",
    version,
    plural: "metal3machinetemplates",
  })),
);
const onTemplates = (answer: Answer) => fakeApi(({ path }) => (path === "/apis" ? served : answer));

describe("a patch", () => {
  it("is a merge patch on the object as it was read, at that version, in our name", async () => {
    const api = await onTemplates({ body: template });
    await (await clusterOn(api)).patch(template, { metadata: { labels: { a: null } }, spec: { x: 1 } });
    expect(api.asked[2]).toMatchObject({
      method: "PATCH",
      path: `${PATH}/t`,
      query: { fieldManager: "capi-caretaker" },
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { labels: { a: null }, uid: "u1", resourceVersion: "7" }, spec: { x: 1 } },
    });
  });

  it.each<readonly [string, KubeObject, boolean]>([
    ["Terminating without a finalizer -> gone", terminating(template), true],
    ["Terminating with a finalizer -> the object", terminating(held(template)), false],
    ["live without a finalizer -> the object", template, false],
  ])("%s", async (_, answered, isGone) => {
    const api = await onTemplates({ body: answered });
    const after = await (await clusterOn(api)).patch(template, { metadata: { finalizers: [] } });
    expect(after).toEqual(isGone ? undefined : answered);
  });
});

describe("a create", () => {
  it.each([
    ["for real", {}, { fieldManager: "capi-caretaker" }],
    ["as a dry run", { dryRun: true }, { fieldManager: "capi-caretaker", dryRun: "All" }],
  ])("%s", async (_, options, query) => {
    const api = await onTemplates({ status: 201, body: template });
    expect(await (await clusterOn(api)).create(held(base), options)).toEqual(template);
    expect(api.asked[2]).toMatchObject({ method: "POST", path: PATH, body: held(base) });
    expect(api.asked[2]?.query).toEqual(query);
  });
});

it("asks for a deletion only of the object as it was read", async () => {
  const api = await onTemplates({ body: { kind: "Status", status: "Success" } });
  await (await clusterOn(api)).delete(template);
  expect(api.asked[2]).toMatchObject({
    method: "DELETE",
    path: `${PATH}/t`,
    body: { preconditions: { uid: "u1", resourceVersion: "7" }, propagationPolicy: "Background" },
  });
});

describe("an Event", () => {
  const tell = (regarding: KubeObject, note: string, reason = "TemplateHeld") =>
    ({ regarding, type: "Normal", reason, action: "Hold", note }) as const;

  it("stands in the namespace of its object and names it", async () => {
    const api = await fakeApi(() => ({ status: 201, body: {} }));
    await (await clusterOn(api)).record(tell(template, "It is held."));
    expect(api.asked).toMatchObject([
      {
        method: "POST",
        path: "/apis/events.k8s.io/v1/namespaces/sylva/events",
        body: {
          metadata: { namespace: "sylva", name: expect.stringMatching(/^t\.[0-9a-f]{16}$/) },
          eventTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
          reportingController: expect.stringMatching(/^capi-caretaker\.io\//),
          type: "Normal",
          reason: "TemplateHeld",
          action: "Hold",
          note: "It is held.",
          regarding: {
            apiVersion: template.apiVersion,
            kind: template.kind,
            name: "t",
            namespace: "sylva",
            uid: "u1",
            resourceVersion: "7",
          },
        },
      },
    ]);
  });

  it("about an object of no namespace stands in default", async () => {
    const api = await fakeApi(() => ({ status: 201, body: {} }));
    await (await clusterOn(api)).record(tell(namespace(), "."));
    expect(api.asked[0]?.path).toBe("/apis/events.k8s.io/v1/namespaces/default/events");
  });

  it("has the same name only for the same reason and note on the same object", async () => {
    const api = await fakeApi(() => ({ status: 201, body: {} }));
    const cluster = await clusterOn(api);
    const other = { ...template, metadata: { ...template.metadata, uid: "u2" } };
    await cluster.record(tell(template, "a"));
    await cluster.record(tell({ ...template, metadata: { ...template.metadata, resourceVersion: "8" } }, "a"));
    await cluster.record(tell(template, "b"));
    await cluster.record(tell(template, "a", "TemplateKept"));
    await cluster.record(tell(other, "a"));
    const names = api.asked.map(({ body }) => (body as KubeObject).metadata.name);
    expect(names[1]).toBe(names[0]);
    expect(new Set(names).size).toBe(4);
  });

  it("that is there already was recorded", async () => {
    const api = await fakeApi(() => status(409, "AlreadyExists"));
    await (await clusterOn(api)).record(tell(template, "a"));
    expect(api.asked).toHaveLength(1);
  });

  it("keeps to the server's limits, whatever its text and its object's name", async () => {
    const api = await fakeApi(() => ({ status: 201, body: {} }));
    const long = { ...template, metadata: { ...template.metadata, name: `${"a".repeat(199)}.${"b".repeat(53)}` } };
    await (await clusterOn(api)).record(tell(long, "ü€".repeat(1000)));
    const [body] = api.asked.map((asked) => asked.body as KubeObject & { note: string });
    expect(Buffer.byteLength(body?.note ?? "")).toBeGreaterThan(1000);
    expect(Buffer.byteLength(body?.note ?? "")).toBeLessThanOrEqual(1024);
    expect(body?.note).toMatch(/^[ü€]+$/);
    expect(body?.metadata.name).toMatch(/^a+\.[0-9a-f]{16}$/);
  });
});
