import { CloudEvent, HTTP } from "cloudevents";
import type { StoreChange } from "../../shared/cluster/snapshot/store.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";

/** What a function answered to one event. */
export interface Answer {
  readonly sink: string;
  readonly status: number;
  /** The reply CloudEvent, if there was one. */
  readonly reply: CloudEvent<unknown> | undefined;
}

/** The event the ApiServerSource makes of a change, in Resource mode. */
export function resourceEvent({ type, object }: StoreChange): CloudEvent<KubeObject> {
  const { kind, namespace, name } = keyOf(object);
  const plural = `${kind.toLowerCase()}s`;
  return new CloudEvent({
    type: `dev.knative.apiserver.resource.${type}`,
    source: "https://127.0.0.1:6443",
    subject: `/apis/${object.apiVersion}/namespaces/${namespace}/${plural}/${name}`,
    kind,
    apiversion: object.apiVersion,
    name,
    namespace,
    datacontenttype: "application/json",
    data: object,
  });
}

/** The event the PingSource sends for a sweep. */
export function pingEvent(): CloudEvent<unknown> {
  const source = "/apis/v1/namespaces/capi-caretaker/pingsources/sweep";
  return new CloudEvent({ type: "dev.knative.sources.ping", source, datacontenttype: "application/json", data: {} });
}

/** Sends an event to a function over HTTP, in binary mode, as the Broker does. */
export async function send(event: CloudEvent<unknown>, sink: string): Promise<Answer> {
  const { headers, body } = HTTP.binary(event);
  const answer = await fetch(sink, {
    method: "POST",
    headers: Object.entries(headers) as [string, string][],
    body: String(body),
  });
  const text = await answer.text();
  if (text === "" || !answer.ok) return { sink, status: answer.status, reply: undefined };
  const reply = HTTP.toEvent({ headers: Object.fromEntries(answer.headers), body: text });
  return { sink, status: answer.status, reply: Array.isArray(reply) ? undefined : (reply as CloudEvent<unknown>) };
}
