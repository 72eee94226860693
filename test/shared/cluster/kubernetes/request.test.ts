import { expect, it } from "vitest";
import { loadLogin } from "../../../../shared/cluster/kubernetes/load-login.ts";
import { createRequest, jsonOf } from "../../../../shared/cluster/kubernetes/request.ts";
import { createTransport } from "../../../../shared/cluster/kubernetes/transport.ts";
import { type FakeApi, fakeApi, kubeconfigFor, TOKEN } from "./fake-api.ts";

async function requestOn({ url }: { readonly url: string }, user?: Record<string, unknown>) {
  const file = kubeconfigFor(url, user);
  const transport = await createTransport(() => loadLogin(file));
  return createRequest(transport, async () => undefined);
}

const read = { method: "GET", path: "/version" } as const;
const write = { method: "POST", path: "/write", body: {} } as const;
const answering = (): Promise<FakeApi> => fakeApi(() => ({ body: {} }));

it("gives up on a server that does not answer in time", async () => {
  const api = await fakeApi(() => "silence");
  await expect((await requestOn(api))(read, jsonOf, 20)).rejects.toMatchObject({
    failure: "unavailable",
    message: "GET /version: no answer within 0.02 s",
  });
});

it("gives up on a body that does not come to its end in time", async () => {
  const api = await fakeApi(() => ({ headers: { "content-length": "100" }, body: "{" }));
  await expect((await requestOn(api))(read, jsonOf, 20)).rejects.toMatchObject({ failure: "unavailable" });
});

it("tries a write again where nothing listens, because nothing was done", async () => {
  const api = await answering();
  const waits: number[] = [];
  const file = kubeconfigFor("http://127.0.0.1:1");
  let where = () => loadLogin(file);
  const transport = await createTransport(() => where());
  const request = createRequest(transport, async (milliseconds) => {
    waits.push(milliseconds);
    where = () => loadLogin(kubeconfigFor(api.url));
    await transport.renew();
  });
  await request(write, jsonOf);
  expect(waits).toHaveLength(1);
  expect(api.calls()).toEqual(["POST /write"]);
});

it("keeps its connection from call to call", async () => {
  const api = await answering();
  const request = await requestOn(api);
  for (let call = 0; call < 5; call += 1) await request(read, jsonOf);
  expect(api.connections()).toBe(1);
});

it("goes below the path of a server behind a gateway", async () => {
  const api = await answering();
  await (await requestOn({ url: `${api.url}/k8s/clusters/c-1/` }))(read, jsonOf);
  expect(api.calls()).toEqual(["GET /k8s/clusters/c-1/version"]);
});

const credential = (token: string) => ({
  apiVersion: "client.authentication.k8s.io/v1",
  kind: "ExecCredential",
  status: { token },
});
const plugin = (script: string) => ({
  exec: { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args: ["-e", script] },
});

it.each([
  ["a token", { token: TOKEN }, `Bearer ${TOKEN}`],
  ["a password", { username: "me", password: "pass" }, `Basic ${Buffer.from("me:pass").toString("base64")}`],
  ["an exec plugin", plugin(`console.log('${JSON.stringify(credential("given"))}')`), "Bearer given"],
])("logs in with %s", async (_, user, authorization) => {
  const api = await answering();
  await (await requestOn(api, user))(read, jsonOf);
  expect(api.asked[0]?.headers.authorization).toBe(authorization);
});

it("runs an exec plugin again when its credential is not taken any more", async () => {
  const api = await fakeApi((_, count) => ({ status: count === 2 ? 401 : 200, body: {} }));
  const print = `console.log(JSON.stringify({...${JSON.stringify(credential(""))}, status: {token: String(process.pid)}}))`;
  const request = await requestOn(api, plugin(print));
  await request(write, jsonOf);
  await request(write, jsonOf);
  const [first, refused, again] = api.asked.map(({ headers }) => headers.authorization);
  expect(refused).toBe(first);
  expect(again).not.toBe(first);
});

it.each([
  ["fails", plugin(`console.error("${TOKEN}"); process.exit(1)`), /no credentials .* from the exec plugin/],
  ["prints no credential", plugin(`console.log("${TOKEN} is no JSON")`), /no credentials .* from the exec plugin/],
  ["is not there", { exec: { command: "no-such-plugin" } }, /from the exec plugin no-such-plugin/],
])("does not pass on what an exec plugin prints that %s", async (_, user, message) => {
  const api = await answering();
  const failed = (await requestOn(api, user))(read, jsonOf);
  await expect(failed).rejects.toMatchObject({ failure: "unavailable", message: expect.stringMatching(message) });
  await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining(TOKEN) });
  expect(api.asked).toEqual([]);
});
