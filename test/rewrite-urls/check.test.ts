import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ask } from "../../functions/rewrite-urls/ask.ts";
import { createCheck } from "../../functions/rewrite-urls/check.ts";
import type { Rule } from "../../functions/rewrite-urls/rules.ts";
import { readPrefix } from "../../functions/rewrite-urls/url.ts";

const TIMEOUT = 2000;
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The address of a server that was there and is not any more. */
async function deadAddress(): Promise<string> {
  const base = await serve(() => {});
  const server = servers.pop();
  server?.close();
  await once(server as Server, "close");
  return base;
}

const always =
  (status: number, headers: Record<string, string | number> = {}): RequestListener =>
  (_request, response) =>
    response.writeHead(status, headers).end();

const withoutHead =
  (status: number): RequestListener =>
  (request, response) => {
    if (request.method === "HEAD") response.writeHead(status).end();
    else if (request.headers.range !== "bytes=0-0") response.writeHead(500).end();
    else response.writeHead(206, { "content-range": "bytes 0-0/4096", "content-length": 1 }).end("x");
  };

describe("asking a URL", () => {
  const rows: readonly (readonly [string, RequestListener, object])[] = [
    ["a file", always(200, { "content-length": 7 }), { state: "there", length: 7 }],
    [
      "a file of unknown length",
      always(200, { "transfer-encoding": "chunked" }),
      { state: "there", length: undefined },
    ],
    ["no file", always(404), { state: "refused", reason: "answers 404" }],
    ["not allowed", always(401), { state: "refused", reason: "answers 401" }],
    ["a broken server", always(503), { state: "refused", reason: "answers 503" }],
    ["HEAD not allowed", withoutHead(405), { state: "there", length: 4096 }],
    ["HEAD not known", withoutHead(501), { state: "there", length: 4096 }],
    ["a redirect to another host", always(302, { location: "http://example.invalid/os" }), { state: "refused" }],
    ["a redirect to nowhere", always(302), { state: "refused", reason: "answers 302" }],
    [
      "a redirect in a circle",
      always(302, { location: "/again" }),
      { state: "refused", reason: "redirects without end" },
    ],
    [
      "a redirect within the host",
      (request, response) =>
        request.url === "/new"
          ? always(200, { "content-length": 9 })(request, response)
          : always(307, { location: "/new" })(request, response),
      { state: "there", length: 9 },
    ],
  ];
  test.each(rows)("%s -> what it says", async (_situation, answer, outcome) => {
    expect(await ask(`${await serve(answer)}/os`, TIMEOUT)).toMatchObject(outcome);
  });

  test("no server -> silent", async () => {
    expect(await ask(`${await deadAddress()}/os`, TIMEOUT)).toEqual({ state: "silent", reason: "ECONNREFUSED" });
  });

  test("a server that never answers -> silent in time", async () => {
    expect(await ask(`${await serve(() => {})}/os`, 30)).toEqual({ state: "silent", reason: "no answer in time" });
  });

  test("https spoken to a plain server -> silent", async () => {
    const base = await serve(always(200));
    expect(await ask(`${base.replace("http:", "https:")}/os`, TIMEOUT)).toMatchObject({ state: "silent" });
  });

  test("a server that ignores Range and begins to send a huge body -> its length, and the connection ends", async () => {
    const closed = Promise.withResolvers<void>();
    const base = await serve((request, response) => {
      if (request.method === "HEAD") return response.writeHead(405).end();
      response.on("close", closed.resolve);
      response.writeHead(200, { "content-length": 1e12 }).write("x".repeat(1e6));
      return response;
    });
    expect(await ask(`${base}/os`, TIMEOUT)).toEqual({ state: "there", length: 1e12 });
    await closed.promise;
  });

  test("user info and fragment in the URL -> never sent", async () => {
    const seen: unknown[] = [];
    const base = await serve((request, response) => {
      seen.push(request.url, request.headers.authorization);
      response.end();
    });
    await ask(`${base.replace("//", "//user:secret@")}/os?v=1#part`, TIMEOUT);
    expect(seen).toEqual(["/os?v=1", undefined]);
  });
});

describe("checking a change", () => {
  const rule = (check: Rule["check"]): Rule => ({
    from: readPrefix("http://old/"),
    to: readPrefix("http://new/"),
    namespaces: undefined,
    check,
  });
  const changeOf = (from: string, to: string) => ({ path: "spec.image.url", from: `${from}/os`, to: `${to}/os` });
  const sized = (length: number) => serve(always(200, { "content-length": length }));

  test.each([
    ["head", "the same length", () => sized(5), () => sized(5), { result: "fine" }],
    ["head", "another length", () => sized(5), () => sized(6), { result: "refuse", because: "different-length" }],
    ["head", "the old server gone", () => sized(5), deadAddress, { result: "fine" }],
    [
      "head",
      "the old file gone",
      () => sized(5),
      () => serve(always(404, { "content-length": 9 })),
      { result: "fine" },
    ],
    [
      "head",
      "the new file missing",
      () => serve(always(404)),
      () => sized(5),
      { result: "refuse", because: "unreachable" },
    ],
    ["head", "nothing answers", deadAddress, () => sized(5), { result: "refuse", because: "unreachable" }],
    ["warn", "nothing answers", deadAddress, deadAddress, { result: "unanswered" }],
    [
      "warn",
      "the new file missing",
      () => serve(always(404)),
      deadAddress,
      { result: "refuse", because: "unreachable" },
    ],
    ["warn", "another length", () => sized(5), () => sized(6), { result: "refuse", because: "different-length" }],
    ["none", "nothing answers", deadAddress, deadAddress, { result: "fine" }],
  ] as const)("%s, %s -> %o", async (check, _situation, after, before, outcome) => {
    const change = changeOf(await before(), await after());
    expect(await createCheck({ timeout: TIMEOUT, atOnce: 2 })(change, rule(check))).toMatchObject(outcome);
  });

  test("a password in the new URL -> not in the reason", async () => {
    const base = (await deadAddress()).replace("//", "//user:secret@");
    const checked = await createCheck()(changeOf(base, base), rule("head"));
    expect(JSON.stringify(checked)).not.toContain("secret");
  });

  test("many changes -> each URL is asked once, never more than a few at once", async () => {
    const seen = new Map<string, number>();
    let running = 0;
    let most = 0;
    const base = await serve((request, response) => {
      seen.set(request.url ?? "", (seen.get(request.url ?? "") ?? 0) + 1);
      running += 1;
      most = Math.max(most, running);
      setImmediate(() => {
        running -= 1;
        response.end();
      });
    });
    const check = createCheck({ timeout: TIMEOUT, atOnce: 2 });
    const changes = Array.from({ length: 12 }, (_, index) =>
      changeOf(`${base}/old${index % 6}`, `${base}/new${index % 6}`),
    );
    const checked = await Promise.all(changes.map((change) => check(change, rule("head"))));
    expect(checked.every(({ result }) => result === "fine")).toBe(true);
    expect([...seen.values()]).toEqual(Array(12).fill(1));
    expect(most).toBeLessThanOrEqual(2);
  });
});
