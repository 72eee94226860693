import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { postCloudEvent } from "./harness/cloud-event.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { startFunction } from "./harness/functions.ts";
import { kustomized } from "./harness/kustomize.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { kubeconfigFor, mintToken } from "./harness/service-account.ts";
import { startTunnel } from "./harness/tunnel.ts";
import { eventually } from "./harness/wait.ts";
import { resourceEvent } from "./scenario/events.ts";
import { isHeld } from "./scenario/marks.ts";
import { likeToken, signingKeyOf } from "./scenario/tokens.ts";

const home = "capi-caretaker";
const namespace = "guarded";
const account = { namespace: home, name: "retain-templates" };
let controlPlane: ControlPlane;
/** What the overlay sets for retain-templates. */
let settings: Readonly<Record<string, string>>;
/** Where retain-templates takes events. */
let url: string;

function settingsOf(service: string): Record<string, string> {
  const found = kustomized("overlays/oidc").find(
    ({ kind, metadata }) => kind === "Service" && metadata.name === service,
  );
  const env = valueAt(found, "spec", "template", "spec", "containers", 0, "env") as { name: string; value: string }[];
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

/** The name of the account of a subject of the overlay, in the namespace of the functions. */
function accountOf(subject = ""): string {
  const [, name] = /^system:serviceaccount:capi-caretaker:(.+)$/.exec(subject) ?? [];
  if (name === undefined) throw new Error(`no account of ours: ${subject}`);
  return name;
}

const subjectsOf = ({ OIDC_SUBJECTS = "" }: Readonly<Record<string, string>>): string[] => OIDC_SUBJECTS.split(",");

async function tokenFor(audience: string | undefined, name = accountOf(subjectsOf(settings)[0])): Promise<string> {
  return mintToken(controlPlane.api, home, name, audience);
}

/** A token as it should be but for these claims, signed by the API server's own key. */
async function signed(claims: Readonly<Record<string, unknown>>): Promise<string> {
  return likeToken(await tokenFor(settings.OIDC_AUDIENCE), claims, { key: signingKeyOf(controlPlane) });
}

/** A token as it should be, signed by a key of one's own. */
async function forged(keyId?: string): Promise<string> {
  const { privateKey: key } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return likeToken(await tokenFor(settings.OIDC_AUDIENCE), {}, keyId === undefined ? { key } : { key, keyId });
}

async function newTemplate(name: string): Promise<KubeObject> {
  return controlPlane.api.create(metal3MachineTemplate({ namespace, name, version: "v1beta1" }));
}

/** The answer to an event about a template, sent again as long as it is to be. */
async function answerTo(template: KubeObject, token: string | undefined, to = url): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return eventually("an answer that is not to be asked for again", async () => {
    const { status } = await postCloudEvent(to, resourceEvent("add", template), headers);
    return status === 503 ? undefined : status;
  });
}

async function isHeldNow(template: KubeObject): Promise<boolean> {
  return isHeld(await controlPlane.api.get(refOf(template)));
}

const seconds = (fromNow: number): number => Math.floor(Date.now() / 1000) + fromNow;

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  const { api } = controlPlane;
  settings = settingsOf("retain-templates");
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  for (const subject of [...subjectsOf(settings), ...subjectsOf(settingsOf("collect-templates"))]) {
    await api.apply({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: accountOf(subject), namespace: home },
    });
  }
  ({ url } = await startFunction("retain-templates", controlPlane, { env: settings }));
});

describe("retain-templates with the settings of the overlay oidc", () => {
  test.each<readonly [string, number, () => Promise<string | undefined>]>([
    ["no token", 401, async () => undefined],
    ["a token for another function", 401, () => tokenFor(settingsOf("collect-templates").OIDC_AUDIENCE)],
    ["a token for the API server", 401, () => tokenFor(undefined)],
    ["an expired token", 401, () => signed({ iat: seconds(-3660), nbf: seconds(-3660), exp: seconds(-60) })],
    ["a token that is not valid yet", 401, () => signed({ nbf: seconds(600) })],
    ["a token of another issuer", 401, () => signed({ iss: "https://elsewhere" })],
    ["a token forged under the API server's key id", 401, () => forged()],
    ["a token forged under a key id of its own", 401, () => forged("mine")],
    [
      "a token of a Trigger to another function",
      403,
      () => tokenFor(settings.OIDC_AUDIENCE, accountOf(subjectsOf(settingsOf("collect-templates"))[0])),
    ],
    ["a token of the function itself", 403, () => tokenFor(settings.OIDC_AUDIENCE, account.name)],
  ])("%s -> %i, and the template is not held", async (situation, status, token) => {
    const template = await newTemplate(situation.replaceAll(/\W+/g, "-").toLowerCase());
    expect(await answerTo(template, await token())).toBe(status);
    expect(await isHeldNow(template)).toBe(false);
  });

  test.each<readonly [string, () => Promise<string>]>([
    ["of the Trigger of changes", () => tokenFor(settings.OIDC_AUDIENCE)],
    ["of the Trigger of sweeps", () => tokenFor(settings.OIDC_AUDIENCE, accountOf(subjectsOf(settings)[1]))],
    ["signed as the expired one was", () => signed({ exp: seconds(60) })],
  ])("a right token, %s -> the template is held", async (situation, token) => {
    const template = await newTemplate(situation.replaceAll(" ", "-").toLowerCase());
    expect(await answerTo(template, await token())).toBe(200);
    expect(await isHeldNow(template)).toBe(true);
  });

  test("the API server is out of reach at the first event -> 503 and nothing done, then the event is taken", async () => {
    const { name, api, server } = controlPlane;
    const tunnel = await startTunnel(server.url);
    const kubeconfig = await kubeconfigFor(
      { name: `${name}-cut`, api, server: { ...server, url: tunnel.url } },
      account,
    );
    const own = await startFunction("retain-templates", controlPlane, { env: settings, kubeconfig, name: "cut-off" });
    const [template, token] = [await newTemplate("cut-off"), await tokenFor(settings.OIDC_AUDIENCE)];
    tunnel.cut();
    const authorization = `Bearer ${token}`;
    expect((await postCloudEvent(own.url, resourceEvent("add", template), { authorization })).status).toBe(503);
    tunnel.mend();
    expect(await answerTo(template, token, own.url)).toBe(200);
    expect(await isHeldNow(template)).toBe(true);
  });
});
