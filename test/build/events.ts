import { groupOf, type KubeObject, keyOf } from "../../shared/objects/object.ts";

/** An HTTP message that carries a CloudEvent, as a sender writes it. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Attributes = Readonly<Record<string, string | undefined>>;
export type Action = "add" | "update" | "delete";

/** What the ApiServerSource sends in Resource mode (knative/eventing pkg/adapter/apiserver/events/events.go). */
export function resourceEvent(action: Action, object: KubeObject): Message {
  return binary(resourceAttributes(`dev.knative.apiserver.resource.${action}`, object), object);
}

/** The same event in structured form, as another channel may pass it on. */
export function structuredEvent(action: Action, object: KubeObject): Message {
  return structured(resourceAttributes(`dev.knative.apiserver.resource.${action}`, object), { data: object });
}

/** What it sends in Reference mode. */
export function referenceEvent(action: Action, object: KubeObject): Message {
  const { kind, namespace, name } = keyOf(object);
  const reference = { kind, namespace, name, apiVersion: object.apiVersion };
  return binary(resourceAttributes(`dev.knative.apiserver.ref.${action}`, object), reference);
}

/** What a PingSource sends at each tick (knative/eventing pkg/adapter/mtping/runner.go); it has no subject. */
export function pingEvent(data: unknown = {}): Message {
  return binary({ type: "dev.knative.sources.ping", source: "/apis/v1/namespaces/caretaker/pingsources/sweep" }, data);
}

/** An event in binary form; an attribute given as undefined is left out, `data` that is text is sent as it stands. */
export function binary(attributes: Attributes, data: unknown, contentType = "application/json"): Message {
  const headers = Object.entries(withDefaults(attributes)).map(([name, value]) => [`ce-${name}`, value]);
  return {
    headers: { ...Object.fromEntries(headers), "content-type": contentType },
    body: typeof data === "string" ? data : JSON.stringify(data),
  };
}

export function structured(
  attributes: Attributes,
  data: Readonly<Record<string, unknown>>,
  contentType = "application/cloudevents+json",
): Message {
  const body = JSON.stringify({ datacontenttype: "application/json", ...withDefaults(attributes), ...data });
  return { headers: { "content-type": contentType }, body };
}

function withDefaults(attributes: Attributes): Record<string, string> {
  const all = {
    specversion: "1.0",
    id: "8b7b6a0e-6f0c-4f8f-9d3a-0f6b7a1f0c11",
    source: "https://127.0.0.1:6443",
    time: "2026-09-01T12:00:00Z",
    ...attributes,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function resourceAttributes(type: string, object: KubeObject): Attributes {
  const { kind, namespace, name } = keyOf(object);
  const { apiVersion } = object;
  const root = groupOf(apiVersion) === "" ? "/apis/v1" : `/apis/${apiVersion}`;
  const subject = `${root}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
  // The namespace of a cluster-scoped object is sent as an empty header.
  return { type, subject, kind, apiversion: apiVersion, name, namespace };
}
