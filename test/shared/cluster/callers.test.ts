import { createHmac, createPublicKey } from "node:crypto";
import fc from "fast-check";
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Handle, NOTHING } from "../../../shared/acts/context.ts";
import { checkCallers } from "../../../shared/cluster/callers.ts";
import { apiServerIssuer } from "../../../shared/cluster/kubernetes/issuer.ts";
import { startServer } from "../../../shared/serving/listen.ts";
import { createApp } from "../../../shared/serving/serve.ts";
import type { Log } from "../../../shared/setup/log.ts";
import { bench } from "../../build/bench.ts";
import { resourceEvent } from "../../build/events.ts";
import { metal3MachineTemplate, NOON } from "../../build/objects.ts";
import { type Answer, type Asked, fakeApi, kubeconfigFor, status } from "./kubernetes/fake-api.ts";

const ISSUER = "https://kubernetes.default.svc.cluster.local";
const AUDIENCE = "serving.knative.dev/service/capi-caretaker/some-function";
const SUBJECT = "system:serviceaccount:capi-caretaker:some-function-oidc-eventing.knative.dev-trigger";
const ENVIRONMENT = { OIDC_AUDIENCE: AUDIENCE, OIDC_SUBJECTS: `system:serviceaccount:x:y,${SUBJECT}` };

const event = resourceEvent("update", metal3MachineTemplate("t"));

interface SigningKey {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function signingKey(kid: string, alg = "RS256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { alg, kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

// Keys take long to make, so that tests share them.
const first = await signingKey("first");
const next = await signingKey("next", "ES256");
const foreign = await signingKey("foreign");
const elsewhere = await signingKey("first");
const longer = await signingKey("first", "RS512");

const at = (seconds: number) => Math.floor(NOON.epochMilliseconds / 1000) + seconds;

/** What the API server writes into a token of an hour. */
const CLAIMS: Readonly<Record<string, unknown>> = {
  iss: ISSUER,
  aud: [AUDIENCE],
  sub: SUBJECT,
  iat: at(0),
  nbf: at(0),
  exp: at(3600),
  "kubernetes.io": { namespace: "capi-caretaker" },
};

function token(claims: Readonly<Record<string, unknown>> = {}, key = first, header: object = {}): Promise<string> {
  const { alg, kid, privateKey } = key;
  return new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
}

const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");

/** An API server that says which keys its tokens are signed with, as it is told to. */
function issuerApi({ path, headers }: Asked, keys: readonly SigningKey[], issuer = ISSUER): Answer {
  if (path === "/.well-known/openid-configuration") return { body: { issuer, jwks_uri: "https://10.0.0.1/keys" } };
  if (path !== "/openid/v1/jwks") return status(404, "NotFound");
  if (headers.accept !== "application/jwk-set+json") return { status: 406, body: "406: Not Acceptable" };
  return { body: { keys: keys.map(({ jwk }) => jwk) } };
}

/** A function with the check of callers, over HTTP. What it is told of an API server can change meanwhile. */
async function serving(answer: (asked: Asked, count: number) => Answer = (asked) => issuerApi(asked, [first])) {
  const world = bench([], ENVIRONMENT);
  const { callers } = world.context.settings;
  if (callers === undefined) throw new Error("no callers");
  const told = { answer };
  const api = await fakeApi((asked, count) => told.answer(asked, count));
  const logged: { level: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const write = (level: string) => (fields: unknown) => {
    logged.push({ level, fields: fields as Readonly<Record<string, unknown>> });
  };
  const log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") } as Log;
  const handled: unknown[] = [];
  const handle: Handle = async (_, change) => {
    handled.push(change);
    return NOTHING;
  };
  const source = await apiServerIssuer({ kubeconfig: kubeconfigFor(api.url) }, world.now, async () => {});
  const app = createApp("some-function", handle, { ...world.context, log }, checkCallers(callers, source, world.now));
  const server = await startServer(app, 0);
  onTestFinished(() => server.close());
  const url = `http://127.0.0.1:${server.port}`;
  const post = (authorization: string | undefined, body = event.body) =>
    fetch(url, {
      method: "POST",
      headers: { ...event.headers, ...(authorization !== undefined && { authorization }) },
      body,
    });
  /** How often the keys were asked for. */
  const fetches = () => api.asked.filter(({ path }) => path === "/openid/v1/jwks").length;
  const send = async (sent: string | Promise<string>) => (await post(`Bearer ${await sent}`)).status;
  return { ...world, told, api, logged, handled, url, post, send, fetches };
}

describe("a caller is let in", () => {
  it.each<readonly [string, () => Promise<string>]>([
    ["as the API server signs it", async () => `Bearer ${await token()}`],
    ["with the scheme in small letters", async () => `bearer ${await token()}`],
    ["for two audiences", async () => `Bearer ${await token({ aud: ["https://kubernetes.default.svc", AUDIENCE] })}`],
    ["for one audience as text", async () => `Bearer ${await token({ aud: AUDIENCE })}`],
    ["of the other subject", async () => `Bearer ${await token({ sub: "system:serviceaccount:x:y" })}`],
    ["of a clock that is a little ahead", async () => `Bearer ${await token({ iat: at(20), nbf: at(20) })}`],
    ["in its last second", async () => `Bearer ${await token({ exp: at(1) })}`],
  ])("token %s -> 204", async (_, authorization) => {
    const { post, handled, logged } = await serving();
    expect((await post(await authorization())).status).toBe(204);
    expect(handled).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  it.each(["ES256", "ES384", "ES512"])("token signed with %s -> 204", async (alg) => {
    const key = await signingKey("elliptic", alg);
    const { send } = await serving((asked) => issuerApi(asked, [first, key]));
    expect(await send(token({}, key))).toBe(204);
  });

  it("keys whose set names no algorithm -> 204", async () => {
    const { alg: _, ...jwk } = first.jwk;
    const { send } = await serving((asked) => issuerApi(asked, [{ ...first, jwk }]));
    expect(await send(token())).toBe(204);
  });
});

type Refused = readonly [situation: string, authorization: () => string | undefined | Promise<string>, reason: RegExp];

describe("a caller is refused", () => {
  const bearer =
    (claims: Readonly<Record<string, unknown>>, key = first, header = {}) =>
    async () =>
      `Bearer ${await token(claims, key, header)}`;
  /** The public key, which everybody can read, taken as the secret of an HMAC. */
  const confused = async (secret: string | Buffer) => {
    const signed = `${encoded({ alg: "HS256", kid: "first" })}.${encoded(CLAIMS)}`;
    return `Bearer ${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
  };
  const der = () => createPublicKey({ key: first.jwk, format: "jwk" }).export({ type: "spki", format: "der" });

  const unsigned: readonly Refused[] = [
    ["no token", () => undefined, /no bearer token/],
    ["an empty header", () => "", /no bearer token/],
    ["the scheme alone", () => "Bearer", /no bearer token/],
    ["another scheme", () => "Basic eDp5", /no bearer token/],
    ["a token without scheme", () => token(), /no bearer token/],
    ["two tokens", async () => `Bearer ${await token()} ${await token()}`, /no bearer token/],
    ["two headers in one", async () => `Bearer x, Bearer ${await token()}`, /no bearer token/],
    ["no JWT", () => "Bearer hello", /Invalid Compact JWS/],
    ["a JWT of nothing", () => "Bearer ..", /./],
    ["a header that is no JSON", () => "Bearer aGVsbG8.e30.AA", /./],
    ["alg none, without signature", () => `Bearer ${encoded({ alg: "none" })}.${encoded(CLAIMS)}.`, /alg/],
    ["alg none with a key id", () => `Bearer ${encoded({ alg: "none", kid: "first" })}.${encoded(CLAIMS)}.AA`, /alg/],
    ["HS256 with the public key in PEM", async () => confused(await exportSPKI(first.publicKey)), /alg/],
    ["HS256 with the public key in DER", () => confused(der()), /alg/],
    ["HS256 with the key set", () => confused(JSON.stringify({ keys: [first.jwk] })), /alg/],
    ["an algorithm that is not the key's", bearer({}, next, { kid: "first" }), /no applicable key/],
    ["an algorithm that no API server signs with", bearer({}, longer), /alg/],
    ["signed by another key under a known id", bearer({}, elsewhere), /signature verification failed/],
    ["signed by another key that it brings along", bearer({}, elsewhere, { jwk: elsewhere.jwk }), /signature/],
    [
      "signed by another key that it says where to find",
      bearer({}, foreign, { jku: "http://x/y" }),
      /no applicable key/,
    ],
    ["signed by a key that is not known", bearer({}, foreign), /no applicable key/],
    [
      "a critical header that nobody knows",
      () => `Bearer ${encoded({ alg: "RS256", kid: "first", crit: ["x"], x: 1 })}.${encoded(CLAIMS)}.AA`,
      /not recognized/,
    ],
    [
      "other claims under a signature",
      async () => {
        const [header, , signature] = (await token({ sub: "system:serviceaccount:x:z" })).split(".");
        return `Bearer ${header}.${encoded(CLAIMS)}.${signature}`;
      },
      /signature verification failed/,
    ],
    ["a signature cut short", async () => `Bearer ${(await token()).slice(0, -8)}`, /signature verification failed/],
  ];
  const signed: readonly Refused[] = [
    ["the wrong issuer", bearer({ iss: "https://elsewhere" }), /"iss"/],
    ["no issuer", bearer({ iss: undefined }), /"iss"/],
    ["the audience of another function", bearer({ aud: [`${AUDIENCE}s`] }), /"aud"/],
    ["the API server's audience", bearer({ aud: [ISSUER] }), /"aud"/],
    ["no audience", bearer({ aud: undefined }), /"aud"/],
    ["an empty audience", bearer({ aud: [] }), /"aud"/],
    ["expired", bearer({ exp: at(-31) }), /"exp"/],
    ["no end", bearer({ exp: undefined }), /"exp"/],
    ["an end that is no number", bearer({ exp: "9999999999" }), /"exp"/],
    ["not yet valid", bearer({ nbf: at(60) }), /"nbf"/],
  ];

  it.each([...unsigned, ...signed])("%s -> 401", async (_, authorization, reason) => {
    const { post, handled, logged } = await serving();
    const sent = await authorization();
    const answer = await post(sent);
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await answer.text()).toBe("a valid token is needed\n");
    expect(handled).toEqual([]);
    expect(logged.map(({ level }) => level)).toEqual(["warn"]);
    expect(logged[0]?.fields.reason).toMatch(reason);
    for (const part of sent?.split(/[ .]/).filter(({ length }) => length > 20) ?? []) {
      expect(JSON.stringify(logged)).not.toContain(part);
    }
  });

  it("a token that nobody signed -> the log names no subject", async () => {
    for (const [, authorization] of unsigned) {
      const { post, logged } = await serving();
      await post(await authorization());
      expect(logged.map(({ fields }) => fields.subject)).toEqual([undefined]);
    }
  });

  it("a token that was signed -> the log names its subject", async () => {
    for (const [, authorization] of signed) {
      const { post, logged } = await serving();
      await post(await authorization());
      expect(logged.map(({ fields }) => fields.subject)).toEqual([SUBJECT]);
    }
  });

  it.each([
    ["another account", "system:serviceaccount:capi-caretaker:default"],
    ["the same name elsewhere", SUBJECT.replace("capi-caretaker", "team-a")],
    ["a longer name", `${SUBJECT}s`],
    ["both names", `system:serviceaccount:x:y,${SUBJECT}`],
    ["no name", ""],
  ])("a right token of %s -> 403", async (_, sub) => {
    const { post, handled, logged } = await serving();
    const answer = await post(`Bearer ${await token({ sub })}`);
    expect([answer.status, await answer.text()]).toEqual([403, "this sender may not send events here\n"]);
    expect(handled).toEqual([]);
    expect(logged).toEqual([{ level: "warn", fields: { status: 403, reason: "not in OIDC_SUBJECTS", subject: sub } }]);
  });

  it("a right token without a subject -> 401", async () => {
    const { send } = await serving();
    expect(await send(token({ sub: undefined }))).toBe(401);
  });

  it("whatever header and claims are made up -> 401, and never a failure", async () => {
    const { post, handled } = await serving();
    const header = fc.record(
      { alg: fc.constantFrom("RS256", "none", "HS256", "", 1), kid: fc.anything() },
      { requiredKeys: [] },
    );
    const part = fc.oneof(
      fc.json(),
      fc.string(),
      header.map((one) => JSON.stringify(one)),
    );
    await fc.assert(
      fc.asyncProperty(part, part, fc.string(), async (...parts) => {
        const made = parts.map((one) => Buffer.from(one).toString("base64url")).join(".");
        // 503 is for a key id that the issuer may have taken into use a moment ago.
        expect([401, 503]).toContain((await post(`Bearer ${made}`)).status);
      }),
      { numRuns: 200 },
    );
    expect(handled).toEqual([]);
  });
});

describe("around the check", () => {
  it("a large body without a token -> 401 before it is read, and the next event is served", async () => {
    const { post, send } = await serving();
    // Larger than MAX_EVENT_BYTES, so that whoever looked at it would answer 413.
    expect((await post(undefined, "x".repeat(5 * 1024 * 1024))).status).toBe(401);
    expect(await send(token())).toBe(204);
  });

  it("what is no event is told so only to a caller", async () => {
    const { post } = await serving();
    const message = async (authorization: string | undefined) => (await post(authorization, "hello")).status;
    expect([await message(undefined), await message(`Bearer ${await token()}`)]).toEqual([401, 400]);
  });

  it("probes and wrong paths need no token, and no key", async () => {
    const { url, api } = await serving();
    const paths = ["/health/liveness", "/health/readiness", "/", "/x"];
    const answers = await Promise.all(paths.map(async (path) => (await fetch(url + path)).status));
    expect(answers).toEqual([200, 200, 400, 400]);
    expect(api.calls()).toEqual([]);
  });

  it("settings that name callers, and nothing that checks them -> nothing is served", () => {
    expect(() => createApp("f", async () => NOTHING, bench([], ENVIRONMENT).context)).toThrow(/callers/);
  });
});

describe("the keys", () => {
  it("many events at once, and more later -> asked for once", async () => {
    const { send, fetches, pass } = await serving();
    expect(await Promise.all(Array.from({ length: 10 }, () => send(token())))).toEqual(Array(10).fill(204));
    pass({ minutes: 9 });
    expect(await send(token())).toBe(204);
    expect(fetches()).toBe(1);
  });

  it("no event -> not asked for", async () => {
    expect((await serving()).api.calls()).toEqual([]);
  });

  it("a key that was taken out of use -> is trusted for ten minutes at most", async () => {
    const { send, told, pass } = await serving();
    expect(await send(token())).toBe(204);
    told.answer = (asked) => issuerApi(asked, [next]);
    pass({ minutes: 9 });
    expect(await send(token())).toBe(204);
    pass({ minutes: 1 });
    expect(await send(token())).toBe(401);
    expect(await send(token({}, next))).toBe(204);
  });

  it("a key that was taken into use -> its first token is let in", async () => {
    const { send, told, pass, fetches } = await serving();
    expect(await send(token())).toBe(204);
    told.answer = (asked) => issuerApi(asked, [first, next]);
    pass({ seconds: 10 });
    expect(await send(token({}, next))).toBe(204);
    expect(await send(token())).toBe(204);
    expect(fetches()).toBe(2);
  });

  it("a key that was taken into use a moment after they were asked for -> 503, and let in when it is sent again", async () => {
    const { send, told, pass } = await serving();
    expect(await send(token())).toBe(204);
    told.answer = (asked) => issuerApi(asked, [first, next]);
    pass({ seconds: 1 });
    expect(await send(token({}, next))).toBe(503);
    pass({ seconds: 5 });
    expect(await send(token({}, next))).toBe(204);
  });

  it("an issuer that got another name -> its first token is let in, one of the former is not", async () => {
    const { send, told, pass } = await serving();
    expect(await send(token())).toBe(204);
    told.answer = (asked) => issuerApi(asked, [first], "https://renamed");
    pass({ seconds: 10 });
    expect(await send(token({ iss: "https://renamed" }))).toBe(204);
    pass({ seconds: 10 });
    expect(await send(token())).toBe(401);
  });

  it("a hundred made-up key ids -> none is let in, and the API server is asked once more", async () => {
    const { send, handled, fetches, pass } = await serving();
    expect(await send(token())).toBe(204);
    pass({ seconds: 10 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, number) => send(token({}, { ...foreign, kid: `made-up-${number}` }))),
    );
    expect(new Set(answers)).toEqual(new Set([401]));
    expect(handled).toHaveLength(1);
    expect(fetches()).toBe(2);
    pass({ seconds: 1 });
    // Whether a key came into use in this second cannot be told yet.
    expect(await send(token({}, foreign))).toBe(503);
    expect(fetches()).toBe(2);
    expect(await send(token())).toBe(204);
  });

  it("made-up key ids while the keys cannot be had -> known keys go on", async () => {
    const { send, told, pass } = await serving();
    expect(await send(token())).toBe(204);
    told.answer = () => status(403, "Forbidden");
    pass({ minutes: 1 });
    expect([await send(token({}, foreign)), await send(token())]).toEqual([503, 204]);
  });

  it.each<readonly [string, (asked: Asked) => Answer]>([
    ["down", () => "hang up"],
    ["overloaded", () => status(500, "InternalError")],
    ["without a right to ask", () => status(403, "Forbidden")],
    ["with an issuer that is no URL, so that it serves no keys", () => status(404, "NotFound")],
    ["a proxy's page", () => ({ body: "<html>" })],
    ["no keys", (asked) => issuerApi(asked, [])],
    ["keys that are none", (asked) => (asked.path.endsWith("jwks") ? { body: { keys: "x" } } : issuerApi(asked, []))],
    ["no issuer", (asked) => (asked.path.endsWith("jwks") ? issuerApi(asked, [first]) : { body: {} })],
  ])("%s -> 503, never let in; again in order -> let in", async (_, answer) => {
    const { send, told, pass, handled, logged } = await serving(answer);
    expect(await send(token())).toBe(503);
    expect(handled).toEqual([]);
    expect(logged.map(({ level }) => level)).toEqual(["error"]);
    told.answer = (asked) => issuerApi(asked, [first]);
    pass({ seconds: 5 });
    expect(await send(token())).toBe(204);
  });

  it("a key without its numbers -> 503, not an answer for good; let in once the keys are asked for anew", async () => {
    const broken = { ...first, jwk: { kty: "RSA", kid: "first", alg: "RS256", use: "sig" } };
    const { send, told, pass, handled } = await serving((asked) => issuerApi(asked, [broken]));
    expect(await send(token())).toBe(503);
    expect(handled).toEqual([]);
    told.answer = (asked) => issuerApi(asked, [first]);
    pass({ minutes: 10 });
    expect(await send(token())).toBe(204);
  });

  it("out of reach for longer than keys are trusted -> 503, then let in", async () => {
    const { send, told, pass } = await serving();
    expect(await send(token())).toBe(204);
    told.answer = () => "hang up";
    pass({ minutes: 10 });
    expect(await send(token())).toBe(503);
    told.answer = (asked) => issuerApi(asked, [first]);
    pass({ seconds: 5 });
    expect(await send(token())).toBe(204);
  });

  it("out of reach -> asked for once in five seconds, whatever comes in", async () => {
    const { send, fetches, pass } = await serving(() => status(403, "Forbidden"));
    for (const _ of Array(5)) expect(await send(token())).toBe(503);
    expect(fetches()).toBe(1);
    pass({ seconds: 5 });
    expect(await send(token())).toBe(503);
    expect(fetches()).toBe(2);
  });
});
