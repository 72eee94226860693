import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readChange } from "../../../shared/events/change.ts";
import { InputError } from "../../../shared/setup/input-error.ts";
import {
  type Action,
  binary,
  type Message,
  pingEvent,
  referenceEvent,
  resourceEvent,
  structured,
  structuredEvent,
} from "../../build/events.ts";
import {
  held,
  kubeadmConfig,
  metal3Machine,
  metal3MachineTemplate,
  namespace,
  terminating,
  VERSIONS,
} from "../../build/objects.ts";

const UPDATE = "dev.knative.apiserver.resource.update";
const machine = metal3Machine("m", { clonedFrom: metal3MachineTemplate("t") });

const read = ({ headers, body }: Message) => readChange(headers, body);
const ACTIONS: readonly Action[] = ["add", "update", "delete"];

describe("the ApiServerSource in Resource mode", () => {
  describe.each(ACTIONS)("%s", (action) => {
    it.each(VERSIONS)("of a %s object, binary and structured -> that change, the whole object", (version) => {
      const one = held(metal3MachineTemplate("t", { version }));
      expect(read(resourceEvent(action, one))).toEqual({ type: "object", action, object: one });
      expect(read(structuredEvent(action, one))).toEqual({ type: "object", action, object: one });
    });
  });

  it("headers are as the adapter writes them", () => {
    expect(resourceEvent("update", machine).headers).toMatchObject({
      "ce-type": UPDATE,
      "ce-subject": "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/sylva/metal3machines/m",
      "ce-kind": "Metal3Machine",
      "ce-apiversion": "infrastructure.cluster.x-k8s.io/v1beta1",
      "ce-name": "m",
      "ce-namespace": "sylva",
      "content-type": "application/json",
    });
  });

  it("a cluster-scoped object, whose ce-namespace is empty", () => {
    const message = resourceEvent("update", namespace());
    expect(message.headers["ce-namespace"]).toBe("");
    expect(read(message)).toMatchObject({ type: "object", object: { kind: "Namespace" } });
  });

  it("what the Broker adds on the way changes nothing", () => {
    const { headers, body } = resourceEvent("update", machine);
    const added = { "ce-knativearrivaltime": "2026-09-01T12:00:00Z", prefer: "reply", "kn-namespace": "x", host: "fn" };
    expect(readChange({ ...headers, ...added }, body)).toEqual(readChange(headers, body));
  });

  it("a Terminating object with managedFields", () => {
    const managedFields = [{ manager: "helm", operation: "Apply", fieldsV1: { "f:spec": {} } }];
    const one = terminating(machine);
    const whole = { ...one, metadata: { ...one.metadata, managedFields } };
    expect(read(resourceEvent("update", whole))).toMatchObject({ object: whole });
  });

  it("optional fields that are null", () => {
    const metadata = { ...machine.metadata, labels: null, annotations: null, finalizers: null, ownerReferences: null };
    expect(read(resourceEvent("update", { ...machine, metadata }))).toMatchObject({ object: { metadata } });
  });

  it("text beyond ASCII", () => {
    const one = { ...machine, spec: { note: "ü 漢 🛠" } };
    expect(read(resourceEvent("update", one))).toMatchObject({ object: { spec: { note: "ü 漢 🛠" } } });
  });
});

describe("content types that carry the same JSON", () => {
  it.each([
    "application/json",
    "application/json; charset=utf-8",
    "application/json; charset=UTF-8",
    "application/json;charset=utf-8",
    "Application/JSON",
    "application/vnd.kubernetes+json",
    "application/octet-stream",
    "text/plain",
  ])("binary, %s", (contentType) => {
    expect(read(binary({ type: UPDATE }, machine, contentType))).toMatchObject({ type: "object", object: machine });
  });

  it("binary without a content type", () => {
    const { headers, body } = binary({ type: UPDATE }, machine);
    const { "content-type": _, ...rest } = headers;
    expect(readChange(rest, body)).toMatchObject({ type: "object", object: machine });
  });

  it.each([
    ["data as an object", { data: machine }],
    ["data as text", { data: JSON.stringify(machine) }],
    ["data as base64", { data_base64: Buffer.from(JSON.stringify(machine)).toString("base64") }],
    ["a datacontenttype of its own", { data: JSON.stringify(machine), datacontenttype: "text/plain" }],
    ["no datacontenttype", { data: machine, datacontenttype: undefined }],
  ])("structured, %s", (_, data) => {
    expect(read(structured({ type: UPDATE }, data))).toMatchObject({ type: "object", object: machine });
  });

  it("structured with a charset", () => {
    const message = structured({ type: UPDATE }, { data: machine }, "application/cloudevents+json; charset=utf-8");
    expect(read(message)).toMatchObject({ type: "object", object: machine });
  });
});

describe("the PingSource", () => {
  it.each<[string, Message]>([
    ["without data", pingEvent("")],
    ["with JSON", pingEvent({ any: "thing" })],
    ["with text", binary({ type: "dev.knative.sources.ping" }, "hello", "text/plain")],
    ["with text that is called JSON", pingEvent("hello")],
    ["structured", structured({ type: "dev.knative.sources.ping" }, {})],
  ])("%s -> a sweep", (_, message) => {
    expect(read(message)).toEqual({ type: "sweep" });
  });
});

describe("our own replies", () => {
  it.each(["io.capi-caretaker.template.held", "io.capi-caretaker.sweep.completed"])("%s -> told apart", (type) => {
    expect(read(binary({ type }, { acts: [] }))).toEqual({ type: "own-reply" });
    expect(read(structured({ type }, { data: { acts: [] } }))).toEqual({ type: "own-reply" });
  });
});

describe("what cannot be read -> InputError with the reason", () => {
  const without = (field: "kind" | "apiVersion" | "metadata") => ({ ...machine, [field]: undefined });
  const withMetadata = (metadata: object) => ({ ...machine, metadata: { ...machine.metadata, ...metadata } });
  const of = (data: unknown) => binary({ type: UPDATE }, data);
  const raw = (contentType: string, body: string): Message => ({ headers: { "content-type": contentType }, body });
  const one = { specversion: "1.0", id: "1", source: "/s", type: UPDATE, data: machine };

  it.each<[string, Message, string]>([
    ["no CloudEvent at all", { headers: {}, body: JSON.stringify(machine) }, "not a CloudEvent"],
    ["nothing at all", { headers: {}, body: "" }, "not a CloudEvent"],
    ["a plain object with its content type", raw("application/json", JSON.stringify(machine)), "not a CloudEvent"],
    ["no id", binary({ type: UPDATE, id: undefined }, machine), "not a CloudEvent"],
    ["no type", binary({}, machine), "not a CloudEvent"],
    ["an empty type", binary({ type: "" }, machine), "not a CloudEvent"],
    ["a specversion nobody knows, and no type", binary({ specversion: "2.0" }, machine), "not a CloudEvent"],
    ["no source", binary({ type: UPDATE, source: undefined }, machine), "not a CloudEvent"],
    ["an attribute whose name is none", binary({ type: UPDATE, bad_name: "x" }, machine), "bad_name"],
    ["structured, not JSON", raw("application/cloudevents+json", "{"), "not a CloudEvent"],
    ["structured, empty", raw("application/cloudevents+json", ""), "not a CloudEvent"],
    ["structured, null", raw("application/cloudevents+json", "null"), "not a CloudEvent"],
    ["structured, a number", raw("application/cloudevents+json", "5"), "not a CloudEvent"],
    ["structured, a list", raw("application/cloudevents+json", "[]"), "not a CloudEvent"],
    ["structured, a type that is a number", structured({}, { type: 5, data: machine }), "not a CloudEvent"],
    ["structured, an id that is a number", structured({ type: UPDATE }, { id: 7, data: machine }), "not a CloudEvent"],
    ["structured, no type", structured({}, { data: machine }), "not a CloudEvent"],
    ["structured, base64 that is a number", structured({ type: UPDATE }, { data_base64: 5 }), "not a CloudEvent"],
    ["structured, base64 that is none", structured({ type: UPDATE }, { data_base64: "%%%" }), "data is not JSON"],
    ["structured, base64 of no JSON", structured({ type: UPDATE }, { data_base64: "aGVsbG8=" }), "data is not JSON"],
    ["XML", raw("application/cloudevents+xml", "<event/>"), "not a CloudEvent"],
    [
      "a batch",
      raw("application/cloudevents-batch+json", JSON.stringify([one])),
      "a batch; send its events one by one",
    ],
    ["an empty batch", raw("application/cloudevents-batch+json", "[]"), "not a CloudEvent"],
    ["a batch that is none", raw("application/cloudevents-batch+json", "{}"), "not a CloudEvent"],
    ["Reference mode", referenceEvent("update", machine), "mode: Resource"],
    [
      "Reference mode, structured",
      structured({ type: "dev.knative.apiserver.ref.add" }, { data: {} }),
      "mode: Resource",
    ],
    ["an unknown type", binary({ type: "com.example.thing" }, machine), "com.example.thing are not handled here"],
    ["a type that only starts like ours", binary({ type: `${UPDATE}d` }, machine), "not handled here"],
    ["a type in another case", binary({ type: UPDATE.toUpperCase() }, machine), "not handled here"],
    ["no data", structured({ type: UPDATE }, {}), "data is no Kubernetes object"],
    ["data that is null", structured({ type: UPDATE }, { data: null }), "data is no Kubernetes object"],
    ["data that is a number", structured({ type: UPDATE }, { data: 5 }), "data is no Kubernetes object"],
    ["data that is a list", of([machine]), "data is no Kubernetes object"],
    ["an empty body", of(""), "data is not JSON"],
    ["a body that is text", of("hello"), "data is not JSON"],
    ["a body that is broken JSON", of("{"), "not a CloudEvent"],
    [
      "a body cut short, under another content type",
      binary({ type: UPDATE }, '{"kind":', "text/plain"),
      "data is not JSON",
    ],
    ["an object without kind", of(without("kind")), "at kind"],
    ["an object without apiVersion", of(without("apiVersion")), "at apiVersion"],
    ["an object without metadata", of(without("metadata")), "at metadata"],
    ["an empty kind", of({ ...machine, kind: "" }), "at kind"],
    ["a kind that is a number", of({ ...machine, kind: 5 }), "at kind"],
    ["metadata that is text", of({ ...machine, metadata: "x" }), "at metadata"],
    ["no name", of(withMetadata({ name: undefined })), "at metadata.name"],
    ["an empty name", of(withMetadata({ name: "" })), "at metadata.name"],
    ["a name that is a list", of(withMetadata({ name: [] })), "at metadata.name"],
    ["a name that leads elsewhere", of(withMetadata({ name: ".." })), "names nothing"],
    ["a namespace that leads elsewhere", of(withMetadata({ namespace: "a/b" })), "names nothing"],
    ["finalizers that are text", of(withMetadata({ finalizers: "x" })), "at metadata.finalizers"],
    ["a label that is a number", of(withMetadata({ labels: { a: 1 } })), "at metadata.labels.a"],
    ["annotations that are a list", of(withMetadata({ annotations: [] })), "at metadata.annotations"],
    [
      "an owner without name",
      of(withMetadata({ ownerReferences: [{ apiVersion: "v1", kind: "A" }] })),
      "ownerReferences[0].name",
    ],
    [
      "a deletionTimestamp that is a number",
      of(withMetadata({ deletionTimestamp: 5 })),
      "at metadata.deletionTimestamp",
    ],
  ])("%s", (_, message, reason) => {
    expect(() => read(message)).toThrow(InputError);
    expect(() => read(message)).toThrow(reason);
  });
});

it("whatever stands in headers and body -> a change or an InputError, nothing else", () => {
  const attribute = fc.oneof(fc.string(), fc.constantFrom(UPDATE, "dev.knative.sources.ping", "1.0", "0.3", ""));
  const headers = fc.record(
    {
      "ce-type": attribute,
      "ce-id": attribute,
      "ce-source": attribute,
      "ce-specversion": attribute,
      "ce-time": attribute,
      "ce-datacontenttype": attribute,
      "content-type": fc.oneof(
        fc.constantFrom("application/json", "application/cloudevents+json", "application/cloudevents-batch+json"),
        fc.string(),
      ),
    },
    { requiredKeys: [] },
  );
  const event = fc.record(
    {
      type: fc.jsonValue(),
      id: fc.jsonValue(),
      source: fc.jsonValue(),
      specversion: fc.jsonValue(),
      data: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    event.map((one) => JSON.stringify(one)),
    fc.constant(JSON.stringify(kubeadmConfig("c"))),
  );
  fc.assert(
    fc.property(headers, body, (given, text) => {
      try {
        expect(["object", "sweep", "own-reply"]).toContain(readChange(given, text).type);
      } catch (error) {
        expect(error).toBeInstanceOf(InputError);
      }
    }),
    { numRuns: 1000 },
  );
});
