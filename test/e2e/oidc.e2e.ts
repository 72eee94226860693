import { beforeAll, describe, expect, test } from "vitest";
import { requestsSince } from "./harness/audit.ts";
import type { Passage } from "./harness/cluster-network.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { type DataPlane, startDataPlane } from "./harness/data-plane.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type Fields, type KubeObject, valueAt } from "./harness/objects.ts";
import { userOf } from "./harness/service-account.ts";
import { untilHeld } from "./scenario/marks.ts";
import { inTime } from "./scenario/patience.ts";
import { startRecorder } from "./scenario/recorder.ts";

const home = "capi-caretaker";
const functions = ["retain-templates", "collect-templates", "rewrite-urls", "label-machines"];
let controlPlane: ControlPlane;
let dataPlane: DataPlane;

function passagesTo(name: string): Passage[] {
  const { host } = dataPlane.functionNamed(name);
  return dataPlane.network.passages.filter((passage) => passage.host === host);
}

async function triggerNamed(name: string): Promise<KubeObject | undefined> {
  return controlPlane.api.get({ apiVersion: "eventing.knative.dev/v1", kind: "Trigger", namespace: home, name });
}

async function newTemplate(name: string): Promise<KubeObject> {
  await controlPlane.api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "watched" } });
  return controlPlane.api.create(metal3MachineTemplate({ namespace: "watched", name, version: "v1beta1" }));
}

function triggerTo(name: string, broker: string, spec: Fields): KubeObject {
  return {
    apiVersion: "eventing.knative.dev/v1",
    kind: "Trigger",
    metadata: { name, namespace: home },
    spec: { broker, ...spec },
  };
}

/** Waits until the dispatcher has every subscriber of a Broker's channel; before that, events pass them by. */
async function untilSubscribed(broker: string, count: number): Promise<void> {
  const channel = { apiVersion: "messaging.knative.dev/v1", kind: "InMemoryChannel", namespace: home };
  await inTime(`the dispatcher to have ${count} subscribers of ${broker}`, async () => {
    const live = await controlPlane.api.get({ ...channel, name: `${broker}-kne-trigger` });
    const wanted = valueAt(live, "spec", "subscribers") as { uid: string }[];
    const taken = (valueAt(live, "status", "subscribers") ?? []) as { uid: string; ready: string }[];
    return (
      wanted.length === count && wanted.every(({ uid }) => taken.some((one) => one.uid === uid && one.ready === "True"))
    );
  });
}

beforeAll(async () => {
  controlPlane = await startManagementCluster({ audit: true });
  // Knative takes the API server's keys without a login where it asks for them at an address of its own choice.
  await controlPlane.api.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "keys-for-everybody" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:service-account-issuer-discovery",
    },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:unauthenticated" }],
  });
  dataPlane = await startDataPlane(controlPlane, {
    overlay: "oidc",
    // By default that address is kubernetes.default.svc, which leads nowhere here.
    features: { "authentication-oidc": "enabled", "oidc-discovery-base-url": controlPlane.url },
  });
});

describe("the overlay oidc on Knative's data plane, whose senders have identities", () => {
  test("a template is made -> it is held", async () => {
    await untilHeld(controlPlane.api, await newTemplate("held"));
  });

  test("a sweep -> every function takes the tick of its Trigger", async () => {
    await dataPlane.sweep();
    await inTime("every function to have swept", () => {
      const swept = functions.filter((name) =>
        passagesTo(name).some(({ event, status }) => event.type === "dev.knative.sources.ping" && status === 200),
      );
      return swept.length === functions.length;
    });
  });

  test("whatever Knative's parts sent to each other and to the functions -> was let in", () => {
    const refused = dataPlane.network.passages.filter(({ status }) => status === 401 || status === 403);
    expect(refused).toEqual([]);
  });

  test("each function -> was given the keys by Kubernetes' own rights", () => {
    for (const name of functions) {
      const user = userOf({ namespace: home, name });
      const own = requestsSince(controlPlane, new Date(0)).filter((one) => one.user.username === user);
      const answers = ["/.well-known/openid-configuration", "/openid/v1/jwks"].map(
        (path) => own.find(({ requestURI }) => requestURI === path)?.responseStatus?.code,
      );
      expect([name, ...answers]).toEqual([name, 200, 200]);
    }
  });

  test("a Trigger that the function does not know, and one that sends no token -> each event is refused once and becomes a dead letter", async () => {
    const { subscriber, ...spec } = valueAt(await triggerNamed("retain-templates"), "spec") as Fields;
    const { audience: _, ...withoutAudience } = subscriber as Fields;
    const dead = await startRecorder();
    await dataPlane.add(triggerTo("of-dead-letters", "dead-letters", { subscriber: { uri: dead.url } }));
    await dataPlane.add(triggerTo("unknown", "events", { ...spec, subscriber }));
    await dataPlane.add(triggerTo("without-token", "events", { ...spec, subscriber: withoutAudience }));
    await untilSubscribed("dead-letters", 1);
    await untilSubscribed("events", 2 * functions.length + 2);
    const template = await newTemplate("told-thrice");
    await untilHeld(controlPlane.api, template);
    const added = "dev.knative.apiserver.resource.add";
    await inTime("two dead letters", () => dead.events.filter((one) => one.attributes.type === added).length === 2);
    const answers = passagesTo("retain-templates")
      .filter(({ event }) => event.type === added && event.name === template.metadata.name)
      .map(({ status }) => status);
    expect(answers.toSorted()).toEqual([200, 401, 403]);
  });
});
