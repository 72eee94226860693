import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { requestsSince } from "./harness/audit.ts";
import { type ClusterNetwork, startClusterNetwork } from "./harness/cluster-network.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { admitted } from "./harness/eventing-admission.ts";
import { startControllers } from "./harness/eventing-processes.ts";
import { eventingNamespace, installEventing } from "./harness/eventing-system.ts";
import { kustomized } from "./harness/kustomize.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { groupOf, type KubeObject, refOf, valueAt } from "./harness/objects.ts";
import { type Served, serve } from "./harness/served-manifests.ts";
import { mintToken } from "./harness/service-account.ts";
import { eventually } from "./harness/wait.ts";
import { resourceEvent } from "./scenario/events.ts";
import { isHeld } from "./scenario/marks.ts";
import { likeToken, signingKeyOf } from "./scenario/tokens.ts";

const home = "capi-caretaker";
const triggerNames = ["retain-templates", "collect-templates", "rewrite-urls", "label-machines"].flatMap((name) => [
  name,
  `sweep-${name}`,
]);

/** Who sends to whom, as Knative's controller of Triggers has settled it. */
interface Sender {
  account: string;
  audience: string;
  receiver: string;
}

let controlPlane: ControlPlane;
let network: ClusterNetwork;
let functions: ReadonlyMap<string, Served>;
let senders: ReadonlyMap<string, Sender>;

const isService = ({ kind, apiVersion }: KubeObject): boolean =>
  kind === "Service" && groupOf(apiVersion) === "serving.knative.dev";

async function senderOf(trigger: KubeObject): Promise<Sender> {
  const { name } = trigger.metadata;
  return eventually(`Knative to give ${name} an identity`, async () => {
    const live = await controlPlane.api.get(refOf(trigger));
    const [account, audience] = [
      valueAt(live, "status", "auth", "serviceAccountName"),
      valueAt(live, "status", "subscriberAudience"),
    ];
    const receiver = valueAt(live, "spec", "subscriber", "ref", "name");
    if (typeof account === "string" && typeof audience === "string")
      return { account, audience, receiver: String(receiver) };
    throw new Error(JSON.stringify(live?.status));
  });
}

const named = <Value>(map: ReadonlyMap<string, Value>, name: string): Value => {
  const value = map.get(name);
  if (value === undefined) throw new Error(`there is no ${name}`);
  return value;
};

/** The token that Knative's filter sends with an event of this Trigger (eventing 0.47, pkg/auth/token_provider.go). */
async function tokenOf(triggerName: string, audience = named(senders, triggerName).audience): Promise<string> {
  return mintToken(controlPlane.api, home, named(senders, triggerName).account, audience);
}

/** The answer of a function to an event with this token; undefined sends none. */
async function statusOf(
  receiver: string,
  token: string | undefined,
  { attributes, data }: { attributes: Record<string, string>; data?: unknown },
): Promise<number> {
  const all = { specversion: "1.0", id: crypto.randomUUID(), ...attributes };
  const headers = {
    ...Object.fromEntries(Object.entries(all).map(([name, value]) => [`ce-${name}`, value])),
    "content-type": "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return network.post(`http://${named(functions, receiver).host}/`, headers, JSON.stringify(data ?? {}));
}

const tick = {
  attributes: { type: "dev.knative.sources.ping", source: `/apis/v1/namespaces/${home}/pingsources/sweep` },
};

async function newTemplate(name: string): Promise<KubeObject> {
  return controlPlane.api.create(metal3MachineTemplate({ namespace: "guarded", name, version: "v1beta1" }));
}

beforeAll(async () => {
  controlPlane = await startManagementCluster({ audit: true });
  const { api } = controlPlane;
  await installEventing(api);
  await api.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "config-features", namespace: eventingNamespace },
    data: { "authentication-oidc": "enabled" },
  });
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "guarded" } });
  const manifests = await admitted(kustomized("overlays/oidc") as readonly KubeObject[]);
  const applied: KubeObject[] = [];
  for (const object of manifests) applied.push(await api.apply(object));
  network = await startClusterNetwork();
  await startControllers(controlPlane, network);
  const served = await Promise.all(
    applied.filter(isService).map((service) => serve(controlPlane, network, service, {})),
  );
  functions = new Map(served.map((one) => [one.name, one]));
  const triggers = applied.filter(({ kind }) => kind === "Trigger");
  senders = new Map(await Promise.all(triggers.map(async (one) => [one.metadata.name, await senderOf(one)] as const)));
});

describe("the overlay oidc, with the senders that Knative itself makes", () => {
  test.each(triggerNames)("an event of the Trigger %s -> its function takes it", async (name) => {
    expect(await statusOf(named(senders, name).receiver, await tokenOf(name), tick)).toBe(200);
  });

  test("the Triggers of the overlay are these", () => {
    expect([...senders.keys()].toSorted()).toEqual(triggerNames.toSorted());
  });

  test("each function was let read the keys by Kubernetes' own rights alone", () => {
    for (const name of functions.keys()) {
      const own = requestsSince(controlPlane, new Date(0)).filter(
        ({ user }) => user.username === `system:serviceaccount:${home}:${name}`,
      );
      const answers = ["/.well-known/openid-configuration", "/openid/v1/jwks"].map(
        (path) => own.find(({ requestURI }) => requestURI === path)?.responseStatus?.code,
      );
      expect([name, ...answers]).toEqual([name, 200, 200]);
    }
  });
});

describe("who is not let in does nothing", () => {
  const now = () => Math.floor(Date.now() / 1000);
  const made = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const right = () => tokenOf("retain-templates");

  test.each<readonly [string, number, () => Promise<string | undefined>]>([
    ["no token", 401, async () => undefined],
    [
      "a token for another function",
      401,
      () => tokenOf("retain-templates", named(senders, "collect-templates").audience),
    ],
    [
      "a token for the API server",
      401,
      () => mintToken(controlPlane.api, home, named(senders, "retain-templates").account),
    ],
    [
      "a token that expired a minute ago",
      401,
      async () =>
        likeToken(
          await right(),
          { iat: now() - 3660, nbf: now() - 3660, exp: now() - 60 },
          { key: signingKeyOf(controlPlane) },
        ),
    ],
    [
      "a token that is not valid yet",
      401,
      async () => likeToken(await right(), { nbf: now() + 600 }, { key: signingKeyOf(controlPlane) }),
    ],
    [
      "a token of another issuer",
      401,
      async () => likeToken(await right(), { iss: "https://elsewhere" }, { key: signingKeyOf(controlPlane) }),
    ],
    ["a token forged under the API server's key id", 401, async () => likeToken(await right(), {}, { key: made() })],
    [
      "a token forged under a key id of its own",
      401,
      async () => likeToken(await right(), {}, { key: made(), keyId: "mine" }),
    ],
    [
      "the Trigger of another function",
      403,
      () => tokenOf("collect-templates", named(senders, "retain-templates").audience),
    ],
    [
      "the function itself",
      403,
      () => mintToken(controlPlane.api, home, "retain-templates", named(senders, "retain-templates").audience),
    ],
  ])("%s -> %i, and the template is not held", async (situation, status, token) => {
    const template = await newTemplate(situation.replaceAll(/\W+/g, "-").toLowerCase());
    const sent = await token();
    const answer = await eventually("an answer that is not to be asked for again", async () => {
      const answered = await statusOf("retain-templates", sent, resourceEvent("add", template));
      return answered === 503 ? undefined : answered;
    });
    expect(answer).toBe(status);
    expect(isHeld(await controlPlane.api.get(refOf(template)))).toBe(false);
  });

  test("the right token, and one signed in the same way as those above -> the template is held", async () => {
    const ways = [
      right,
      async () => likeToken(await right(), { exp: now() + 60 }, { key: signingKeyOf(controlPlane) }),
    ];
    for (const [number, token] of ways.entries()) {
      const template = await newTemplate(`right-${number}`);
      expect(await statusOf("retain-templates", await token(), resourceEvent("add", template))).toBe(200);
      expect(isHeld(await controlPlane.api.get(refOf(template)))).toBe(true);
    }
  });
});

test("the API server is out of reach at the first event -> 503 and nothing done, then the event is taken", async () => {
  const retain = named(functions, "retain-templates");
  const [template, token] = [await newTemplate("cut-off"), await tokenOf("retain-templates")];
  await retain.kill();
  await retain.start();
  retain.apiServer.cut();
  expect(await statusOf("retain-templates", token, resourceEvent("add", template))).toBe(503);
  retain.apiServer.mend();
  await eventually("the event to be taken", async () => {
    const answer = await statusOf("retain-templates", token, resourceEvent("add", template));
    if (answer === 503) return undefined;
    expect(answer).toBe(200);
    return true;
  });
  expect(isHeld(await controlPlane.api.get(refOf(template)))).toBe(true);
});
