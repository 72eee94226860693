import { connect } from "node:net";
import { CloudEvent, HTTP } from "cloudevents";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { handle as retain } from "../../../functions/retain-templates/index.ts";
import { type Act, type Handle, NOTHING, type Outcome } from "../../../shared/acts/context.ts";
import { ClusterError } from "../../../shared/cluster/cluster.ts";
import { keyOf, keyText } from "../../../shared/objects/object.ts";
import { startServer } from "../../../shared/serving/listen.ts";
import { createApp } from "../../../shared/serving/serve.ts";
import { InputError } from "../../../shared/setup/input-error.ts";
import { ask } from "../../build/ask.ts";
import { bench } from "../../build/bench.ts";
import { binary, type Message, pingEvent, referenceEvent, resourceEvent, structuredEvent } from "../../build/events.ts";
import { metal3Machine, metal3MachineTemplate } from "../../build/objects.ts";

const template = metal3MachineTemplate("t");
const event = resourceEvent("update", template);
const act: Act = { noun: "template", done: "held", object: keyOf(template), because: "not-held" };

/** The answer of an app around `handle` to one request. */
async function answer(handle: Handle, message: Message, request: RequestInit = {}, path = "/") {
  const app = createApp("some-function", handle, bench([template]).context);
  const init = { method: "POST", headers: { ...message.headers }, body: message.body, ...request };
  const response = await ask(app, path, init);
  return { status: response.status, body: await response.text(), headers: Object.fromEntries(response.headers) };
}

const did =
  (outcome: Outcome): Handle =>
  async () =>
    outcome;
const nothing = did(NOTHING);
const failing =
  (error: unknown): Handle =>
  async () => {
    throw error;
  };

describe("events", () => {
  it.each<[string, Handle, Message, number]>([
    ["nothing to do", nothing, event, 204],
    ["nothing to do, structured", nothing, structuredEvent("delete", template), 204],
    ["something done", did({ acts: [act], counts: {} }), event, 200],
    ["a sweep, even of nothing", nothing, pingEvent(), 200],
    ["no CloudEvent", nothing, { headers: {}, body: "hello" }, 400],
    ["an event without object", nothing, binary({ type: "dev.knative.apiserver.resource.add" }, {}), 400],
    ["Reference mode", nothing, referenceEvent("add", template), 400],
    ["an unknown type", nothing, binary({ type: "com.example" }, {}), 400],
    ["a conflict that stays", failing(new ClusterError("unavailable", "x")), event, 503],
    ["something not found", failing(new ClusterError("not-found", "x")), event, 503],
    ["a precondition that failed", failing(new ClusterError("conflict", "x")), event, 503],
    ["a bug", failing(new TypeError("x")), event, 503],
    ["several failures", failing(new AggregateError([new Error("x")])), event, 503],
    ["an InputError from within: the sender cannot mend it", failing(new InputError("x")), event, 503],
    ["a thrown text", failing("x"), event, 503],
    [
      "a reply that no header can hold",
      did({ acts: [{ ...act, object: { ...act.object, name: "\u2028" } }], counts: {} }),
      event,
      503,
    ],
  ])("%s -> $3", async (_, handle, message, status) => {
    expect((await answer(handle, message)).status).toBe(status);
  });

  it("what is not done is not told in detail: the log has it", async () => {
    const { body } = await answer(failing(new ClusterError("forbidden", "secret name")), event);
    expect(body).toBe("not done yet; send it again\n");
  });

  it("a refusal says why", async () => {
    expect((await answer(nothing, { headers: {}, body: "" })).body).toMatch(/^not a CloudEvent: .*\n$/);
    expect((await answer(nothing, referenceEvent("add", template))).body).toContain("mode: Resource");
  });

  it("204 has no body and no content type", async () => {
    const { body, headers } = await answer(nothing, event);
    expect(body).toBe("");
    expect(headers["content-type"]).toBeUndefined();
  });

  it("the handler gets the change and the context", async () => {
    const { context } = bench([]);
    const seen: unknown[] = [];
    const handle: Handle = async (...given) => {
      seen.push(...given);
      return NOTHING;
    };
    const app = createApp("f", handle, context);
    await ask(app, "/", { method: "POST", ...event, headers: { ...event.headers } });
    expect(seen).toEqual([context, { type: "object", action: "update", object: template }]);
  });

  it("a refused event never reaches the handler", async () => {
    const reached: Handle = async () => {
      throw new Error("reached");
    };
    expect((await answer(reached, { headers: {}, body: "" })).status).toBe(400);
  });
});

describe("the reply is exactly one valid CloudEvent", () => {
  async function reply(handle: Handle, message: Message) {
    const { status, headers, body } = await answer(handle, message);
    expect(status).toBe(200);
    const read = HTTP.toEvent({ headers, body });
    if (!(read instanceof CloudEvent)) throw new Error("a batch");
    expect(read.validate()).toBe(true);
    return read as CloudEvent<{ acts: unknown; counts?: unknown }>;
  }

  it("to a change: the acts, named after the first", async () => {
    const other: Act = { ...act, done: "restored", object: keyOf(metal3MachineTemplate("u")) };
    const read = await reply(did({ acts: [act, other], counts: {} }), event);
    expect(read).toMatchObject({
      specversion: "1.0",
      type: "io.capi-caretaker.template.held",
      source: "/capi-caretaker/some-function",
      subject: keyText(act.object),
      time: "2026-09-01T12:00:00.000Z",
      datacontenttype: "application/json; charset=utf-8",
      data: { acts: [act, other] },
    });
    expect(read.id).toMatch(/./);
  });

  it("to a sweep: the counts", async () => {
    const read = await reply(did({ acts: [act], counts: { templates: 3, held: 1 } }), pingEvent());
    expect(read).toMatchObject({
      type: "io.capi-caretaker.sweep.completed",
      data: { acts: [act], counts: { templates: 3, held: 1 } },
    });
    expect(read.subject).toBeUndefined();
  });

  it("each with an id of its own", async () => {
    const handle = did({ acts: [act], counts: {} });
    expect((await reply(handle, event)).id).not.toBe((await reply(handle, event)).id);
  });

  it("of a real function: the hold it put on a template", async () => {
    const { context, live } = bench([template]);
    const app = createApp("retain-templates", retain, context);
    const { headers, body } = resourceEvent("add", template);
    const response = await ask(app, "/", { method: "POST", headers: { ...headers }, body });
    expect(response.status).toBe(200);
    expect(response.headers.get("ce-type")).toBe("io.capi-caretaker.template.held");
    expect((await live(template)).metadata.finalizers).toEqual(["capi-caretaker.io/in-use"]);
    // Sent back by a Trigger without filter, it makes no loop.
    const back = { method: "POST", headers: Object.fromEntries(response.headers), body: await response.text() };
    expect((await ask(app, "/", back)).status).toBe(204);
  });
});

describe("size", () => {
  const megabytes = (n: number): Message => {
    const { headers } = event;
    return { headers, body: JSON.stringify({ ...template, spec: { filler: "x".repeat(n * 1024 * 1024) } }) };
  };

  it.each([
    ["3 MB", 3, 204],
    ["5 MB", 5, 413],
  ])("%s -> $2, with and without a content-length", async (_, size, status) => {
    const message = megabytes(size);
    expect((await answer(nothing, message)).status).toBe(status);
    const headers = { ...message.headers, "content-length": String(message.body.length) };
    expect((await answer(nothing, { ...message, headers })).status).toBe(status);
  });

  it("413 says which setting and what happens to the work", async () => {
    expect((await answer(nothing, megabytes(5))).body).toMatch(/MAX_EVENT_BYTES \(4194304\).*sweep/);
  });

  it("goes by MAX_EVENT_BYTES", async () => {
    const app = createApp("f", nothing, bench([], { MAX_EVENT_BYTES: "1024" }).context);
    const post = (length: number) =>
      ask(app, "/", { method: "POST", headers: { ...event.headers }, body: "x".repeat(length) });
    expect((await post(1024)).status).toBe(400);
    expect((await post(1025)).status).toBe(413);
  });
});

describe("other requests", () => {
  it.each([
    ["GET", "/health/liveness", 200],
    ["GET", "/health/readiness", 200],
    ["HEAD", "/health/readiness", 200],
    ["GET", "/", 400],
    ["HEAD", "/", 400],
    ["PUT", "/", 400],
    ["DELETE", "/", 400],
    ["OPTIONS", "/", 400],
    ["POST", "/health/liveness", 400],
    ["GET", "/health", 400],
    ["GET", "/health/liveness/", 400],
    ["POST", "/machines", 400],
    ["POST", "//", 400],
    ["GET", "/%", 400],
    ["GET", "/../../etc/passwd", 400],
    ["GET", "/favicon.ico", 400],
  ])("%s %s -> %i", async (method, path, status) => {
    const app = createApp("f", nothing, bench([]).context);
    expect((await ask(app, path, { method })).status).toBe(status);
  });

  it("an unknown path says how to call", async () => {
    const app = createApp("f", nothing, bench([]).context);
    expect(await (await ask(app, "/x")).text()).toContain("POST a CloudEvent to /");
  });

  it("a query does not matter", async () => {
    expect((await answer(nothing, event, {}, "/?x=y")).status).toBe(204);
  });
});

it("whatever comes in -> a status of the contract, and a handled event has an empty body", async () => {
  const app = createApp("f", nothing, bench([]).context);
  const value = fc.string().filter((text) => isHeaderValue(text));
  const names = [
    "ce-id",
    "ce-type",
    "ce-source",
    "ce-specversion",
    "ce-time",
    "ce-x",
    "content-type",
    "content-length",
  ];
  const known = fc.constantFrom(
    "1.0",
    "dev.knative.sources.ping",
    "dev.knative.apiserver.resource.add",
    "application/json",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "io.capi-caretaker.x",
    "0",
    "-1",
  );
  const headers = fc.dictionary(fc.constantFrom(...names), fc.oneof(known, value), { noNullPrototype: true });
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constant(event.body),
    fc.uint8Array().map((bytes) => new Uint8Array(bytes)),
  );
  const path = fc.oneof(fc.constantFrom("/", "/health/liveness"), fc.webPath());
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("POST", "PUT", "DELETE", "PATCH"),
      path,
      headers,
      body,
      async (method, at, given, sent) => {
        const response = await ask(app, `http://f${at === "" ? "/" : at}`, { method, headers: given, body: sent });
        expect([200, 204, 400, 413, 503]).toContain(response.status);
        if (response.status === 204) expect(await response.text()).toBe("");
        // The function does nothing here, so nothing is to be sent again either.
        expect(response.status).not.toBe(503);
      },
    ),
    { numRuns: 500 },
  );

  function isHeaderValue(text: string): boolean {
    try {
      new Headers({ x: text });
      return true;
    } catch {
      return false;
    }
  }
});

describe("over a real socket", () => {
  async function serving(handle: Handle) {
    const server = await startServer(createApp("f", handle, bench([]).context), 0);
    let closed = false;
    const close = async () => {
      closed = true;
      await server.close();
    };
    onTestFinished(async () => {
      if (!closed) await close();
    });
    const url = `http://127.0.0.1:${server.port}`;
    const post = (message: Message) =>
      fetch(url, { method: "POST", headers: { ...message.headers }, body: message.body });
    return { url, post, close, port: server.port };
  }

  it("the whole contract", async () => {
    const { url, post } = await serving(async (_, change) =>
      change.type === "sweep" ? { acts: [], counts: { a: 1 } } : NOTHING,
    );
    const handled = await post(event);
    expect([handled.status, await handled.text()]).toEqual([204, ""]);
    const sweep = await post(pingEvent());
    expect([sweep.status, sweep.headers.get("ce-type")]).toEqual([200, "io.capi-caretaker.sweep.completed"]);
    expect(await sweep.json()).toEqual({ acts: [], counts: { a: 1 } });
    expect((await post({ headers: {}, body: "hello" })).status).toBe(400);
    expect((await post({ ...event, body: "x".repeat(5 * 1024 * 1024) })).status).toBe(413);
    expect((await fetch(`${url}/health/readiness`)).status).toBe(200);
    expect((await fetch(`${url}/nothing`)).status).toBe(400);
    expect((await post(event)).status).toBe(204);
  });

  it("a request as no fetch sends it", async () => {
    const { port } = await serving(nothing);
    const speak = (text: string) =>
      new Promise<string>((resolve, reject) => {
        let said = "";
        const socket = connect(port, "127.0.0.1", () => socket.write(text));
        socket.setEncoding("utf8").on("data", (chunk) => {
          said += chunk;
          socket.destroy();
        });
        socket.on("close", () => resolve(said.slice(9, 12))).on("error", reject);
      });
    const headers = Object.entries(event.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const post = (target: string, length: number, more = "") =>
      `POST ${target} HTTP/1.1\r\nhost: f\r\n${headers.join("")}${more}content-length: ${length}\r\n\r\n${event.body}`;
    const size = Buffer.byteLength(event.body);
    expect(await speak(post("http://f", size))).toBe("204");
    expect(await speak(post("http://f/?a=b", size))).toBe("204");
    expect(await speak(post("http://f/machines", size))).toBe("400");
    expect(await speak(post("*", size))).toBe("400");
    expect(await speak(post("/", size, "ce-type: dev.knative.sources.ping\r\n"))).toBe("400");
    // It is answered before its end, which never comes.
    expect(await speak(post("/", 1e9))).toBe("413");
    const endless = `POST / HTTP/1.1\r\nhost: f\r\ntransfer-encoding: chunked\r\n\r\n600000\r\n${"x".repeat(0x600000)}\r\n`;
    expect(await speak(endless)).toBe("413");
  });

  it("what is no HTTP, or half of it, does not stop the next event", async () => {
    const { port, post } = await serving(nothing);
    const speak = (text: string) =>
      new Promise<void>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => socket.end(text));
        socket.on("close", () => resolve()).on("error", () => resolve());
        socket.resume();
      });
    await speak("hello\r\n\r\n");
    await speak("POST / HTTP/1.1\r\nhost: f\r\ncontent-length: 100\r\n\r\n{");
    await speak("POST / HTTP/1.1\r\nhost: a b\r\ncontent-length: 0\r\n\r\n");
    expect((await post(event)).status).toBe(204);
  });

  it("close drains: the event under way is answered, no new one is taken", async () => {
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const { post, close } = await serving(async () => {
      entered.resolve();
      await gate.promise;
      return NOTHING;
    });
    const underWay = post(event);
    await entered.promise;
    let isClosed = false;
    const closing = close().then(() => {
      isClosed = true;
    });
    await expect(post(event)).rejects.toThrow();
    expect(isClosed).toBe(false);
    gate.resolve();
    const answer = await underWay;
    expect(answer.status).toBe(204);
    // A connection that its client keeps alive would hold up every roll-out.
    expect(answer.headers.get("connection")).toBe("close");
    await closing;
  });

  it("close does not wait for idle connections", async () => {
    const { post, close } = await serving(nothing);
    await (await post(event)).text();
    await close();
    await expect(post(event)).rejects.toThrow();
  });

  it("a port that is taken -> an error", async () => {
    const { port } = await serving(nothing);
    const again = startServer(createApp("f", nothing, bench([]).context), port);
    await expect(again).rejects.toThrow(/EADDRINUSE/);
  });
});

it("events of a machine that nobody knows are fine", async () => {
  expect((await answer(retain, resourceEvent("delete", metal3Machine("m")))).status).toBe(204);
});
