/** A CloudEvent with its attributes and extensions by name (`id`, `type`, `source`, `subject`, `kind`, …). */
export interface CloudEvent {
  attributes: Record<string, string>;
  data: unknown;
}

/** What a receiver answered. */
export interface Answer {
  status: number;
  body: string;
  /** The event in the answer, if it carried a whole one. */
  reply: CloudEvent | undefined;
}

function parsed(body: string): unknown {
  if (body === "") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** Reads a CloudEvent in binary or structured mode; undefined where the headers and body are none. */
export function readCloudEvent(headers: Record<string, string>, body: string): CloudEvent | undefined {
  if (headers["content-type"]?.startsWith("application/cloudevents+json") === true) {
    const { data, ...attributes } = JSON.parse(body) as Record<string, unknown>;
    return {
      attributes: Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, String(value)])),
      data,
    };
  }
  const attributes = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith("ce-") ? [[name.slice(3), value]] : [],
  );
  const event: CloudEvent = {
    attributes: Object.fromEntries(attributes) as Record<string, string>,
    data: parsed(body),
  };
  const isWhole = ["id", "type", "source", "specversion"].every((name) => event.attributes[name] !== undefined);
  return isWhole ? event : undefined;
}

/** Posts a CloudEvent in binary mode, as Knative does. Missing `id`, `source` and `specversion` are filled in; `headers` are sent along. Throws when nothing answers in `timeoutMs`, two minutes by default. */
export async function postCloudEvent(
  url: string,
  event: CloudEvent,
  headers: Record<string, string> = {},
  timeoutMs = 120_000,
): Promise<Answer> {
  const attributes = { specversion: "1.0", id: crypto.randomUUID(), source: "/e2e", ...event.attributes };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...headers,
      ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])),
    },
    body: event.data === undefined ? null : JSON.stringify(event.data),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const body = await response.text();
  return { status: response.status, body, reply: readCloudEvent(Object.fromEntries(response.headers), body) };
}

/** The event a PingSource sends for a sweep. */
export function pingEvent(data: unknown = {}): CloudEvent {
  return {
    attributes: { type: "dev.knative.sources.ping", source: "/apis/v1/namespaces/e2e/pingsources/sweep" },
    data,
  };
}
