import { beforeAll, describe, expect, test } from "vitest";
import { startAdapter } from "./harness/adapter.ts";
import { cluster, kubeadmConfigTemplate, machineDeployment, ownedBy } from "./harness/capi-objects.ts";
import { type CloudEvent, postCloudEvent } from "./harness/cloud-event.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { functionsNamespace, type ServedFunction, startFunction } from "./harness/functions.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3Cluster, metal3Machine, metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type KubeObject, refOf } from "./harness/objects.ts";
import { type Relay, startRelay } from "./harness/relay.ts";
import { kubeconfigFor } from "./harness/service-account.ts";
import { eventually } from "./harness/wait.ts";
import { metal3Version, sweepOf } from "./scenario/caretakers.ts";
import { type KillingProxy, startKillingProxy } from "./scenario/killing-proxy.ts";
import { hold, isHeld, renewedAt, retiredAt, retiredLabel } from "./scenario/marks.ts";

const env = { COLLECT_GRACE: "PT0S", RENEW_AFTER: "PT0S" };
const endpoint = { host: "127.0.0.1", port: 6443 };

let controlPlane: ControlPlane;
let proxy: KillingProxy;
/** Takes what the event source sends and passes nothing on: the tests deliver, once or twice, to whom they choose. */
let source: Relay;
let survivors: Record<Concern, ServedFunction>;
let played = 0;

type Concern = "retain-templates" | "collect-templates";

interface Scene {
  template: KubeObject;
  /** The event by which the function learns what happened. */
  event: CloudEvent;
}

/** Something a function does in several writes. */
interface Play {
  concern: Concern;
  /** Brings it about, in a namespace of its own, that the function has to act. */
  prepare(namespace: string): Promise<Scene>;
  /** Throws while the outcome is not there. */
  check(scene: Scene): Promise<void>;
}

async function eventAbout(template: KubeObject, type: "update" | "delete"): Promise<CloudEvent> {
  return eventually(`an ${type} event about ${template.metadata.namespace}/${template.metadata.name}`, () =>
    source.received.findLast(({ attributes, data }) => {
      const isAsked = attributes.type?.endsWith(`.${type}`) === true;
      return isAsked && (data as KubeObject).metadata.uid === template.metadata.uid;
    }),
  );
}

/** A template owned by a living Cluster, with a MachineDeployment that wants it where asked for. */
async function createTemplate(namespace: string, extra: Partial<KubeObject["metadata"]>, isWanted: boolean) {
  const { api } = controlPlane;
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const infrastructure = await api.create(metal3Cluster(namespace, "mgmt", endpoint, "v1beta1"));
  const owner = await api.create(cluster("mgmt", infrastructure, endpoint));
  const body = metal3MachineTemplate({ namespace, name: "workers", version: "v1beta1" });
  const metadata = { ...body.metadata, ownerReferences: [ownedBy(owner)], ...extra };
  const template = await api.apply({ ...body, metadata }, { fieldManager: "chart" });
  const bootstrap = kubeadmConfigTemplate(namespace, "workers");
  const options = { namespace, name: "workers", cluster: "mgmt", infrastructure: template, bootstrap };
  if (isWanted) await api.create(machineDeployment(options));
  return template;
}

async function goneForGood({ template }: Scene): Promise<void> {
  expect(await controlPlane.api.get(refOf(template))).toBeUndefined();
}

/** The template is a new object, live, with all that its owner and we had put on it. */
async function backAgain({ template }: Scene): Promise<KubeObject> {
  const live = (await controlPlane.api.get(refOf(template))) as KubeObject;
  expect(live).toBeDefined();
  expect(live.metadata.uid).not.toBe(template.metadata.uid);
  expect(live.metadata.deletionTimestamp).toBeUndefined();
  expect(isHeld(live)).toBe(true);
  expect(live.spec).toEqual(template.spec);
  expect(live.metadata.ownerReferences).toEqual(template.metadata.ownerReferences);
  const managers = live.metadata.managedFields?.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes("f:spec"));
  expect(managers?.map(({ manager }) => manager)).toEqual(["chart"]);
  return live;
}

async function nothingElseIsLeft(): Promise<void> {
  const labelSelector = "capi-caretaker.io/copy-of";
  expect(await controlPlane.api.list({ apiVersion: "v1", kind: "ConfigMap", labelSelector })).toEqual([]);
}

const plays: Record<string, Play> = {
  "let go of a Terminating template": {
    concern: "collect-templates",
    async prepare(namespace) {
      const template = await createTemplate(namespace, { finalizers: [hold] }, false);
      await controlPlane.api.delete(refOf(template));
      return { template, event: await eventAbout(template, "update") };
    },
    check: goneForGood,
  },
  "let go of a template that only its mark says is retired": {
    concern: "collect-templates",
    async prepare(namespace) {
      const annotations = { [retiredAt]: "2026-01-01T00:00:00Z" };
      const labels = { [retiredLabel]: "true" };
      const template = await createTemplate(namespace, { finalizers: [hold], annotations, labels }, false);
      const { name } = template.metadata;
      // Any change of it makes an event.
      await controlPlane.api.mergePatch(refOf(template), { metadata: { labels: { touched: name } } });
      return { template, event: await eventAbout(template, "update") };
    },
    check: goneForGood,
  },
  "restore a template": {
    concern: "retain-templates",
    async prepare(namespace) {
      const template = await createTemplate(namespace, {}, true);
      await controlPlane.api.delete(refOf(template));
      return { template, event: await eventAbout(template, "delete") };
    },
    async check(scene) {
      const { metadata } = await backAgain(scene);
      expect(metadata.annotations?.[retiredAt]).toBeDefined();
      expect(metadata.labels?.[retiredLabel]).toBeDefined();
    },
  },
  "renew a template": {
    concern: "collect-templates",
    async prepare(namespace) {
      const template = await createTemplate(namespace, { finalizers: [hold] }, true);
      await controlPlane.api.delete(refOf(template));
      return { template, event: await eventAbout(template, "update") };
    },
    async check(scene) {
      const { metadata } = await backAgain(scene);
      expect(metadata.annotations?.[retiredAt]).toBeUndefined();
      expect(metadata.annotations?.[renewedAt]).toBeDefined();
    },
  },
};

/** Lets a function begin and kills it after its nth write; false when it has no such write. */
async function crashAfter(nth: number, concern: Concern, { event }: Scene): Promise<boolean> {
  const own = await kubeconfigFor(controlPlane, { namespace: functionsNamespace, name: concern });
  const kubeconfig = proxy.kubeconfigOf(own);
  const victim = await startFunction(concern, controlPlane, { env, kubeconfig, name: "victim" });
  proxy.arm(nth, victim);
  const answer = await postCloudEvent(victim.url, event).catch(() => undefined);
  if (answer !== undefined) expect(answer.status).toBe(200);
  victim.kill();
  await victim.exited;
  return answer === undefined;
}

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  proxy = await startKillingProxy(controlPlane);
  source = await startRelay();
  await startAdapter(controlPlane, source.url, [{ apiVersion: metal3Version, kind: "Metal3MachineTemplate" }]);
  survivors = {
    "retain-templates": await startFunction("retain-templates", controlPlane, { env }),
    "collect-templates": await startFunction("collect-templates", controlPlane, { env }),
  };
});

describe.each(Object.entries(plays))("the function is killed after any of its writes to %s", (_, play) => {
  const recoveries: Record<string, (scene: Scene) => Promise<void>> = {
    "the same event": async ({ event }) => {
      const { status } = await postCloudEvent(survivors[play.concern].url, event);
      expect([200, 204]).toContain(status);
    },
    "a sweep": async () => {
      await sweepOf(survivors[play.concern]);
    },
  };

  test.each(Object.entries(recoveries))("%s finishes it, and nothing is lost", async (_, recover) => {
    let crashes = 0;
    for (let nth = 1; ; nth += 1) {
      const scene = await play.prepare(`crash-${++played}`);
      const isKilled = await crashAfter(nth, play.concern, scene);
      const said = `killed after ${JSON.stringify(proxy.writes.at(-1))}`;
      if (isKilled) {
        crashes += 1;
        await recover(scene);
      }
      const check = async (): Promise<void> => {
        await play.check(scene).catch((error: unknown) => {
          throw new Error(isKilled ? said : "not killed", { cause: error });
        });
      };
      await check();
      // An event that finds the object whole does not ask for a copy of it, which would cost a request each time: the copy
      // that a crash right before its removal leaves is the sweep's to remove.
      if (isKilled) await sweepOf(survivors[play.concern]);
      await check();
      await nothingElseIsLeft();
      if (!isKilled) break;
    }
    expect(crashes).toBeGreaterThan(1);
  });
});

test("a machine appears just before the hold is dropped and the function is killed right after -> the delete event brings the template back", async () => {
  const { api } = controlPlane;
  const play = plays["let go of a Terminating template"] as Play;
  const scene = await play.prepare("late-referrer");
  const { namespace = "", name } = scene.template.metadata;
  proxy.before(
    ({ method, path }) => method === "PATCH" && path.endsWith(name),
    async () => {
      const host = metal3Machine(namespace, "late", "v1beta1");
      const annotations = {
        "cluster.x-k8s.io/cloned-from-name": name,
        "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
      };
      await api.create({ ...host, metadata: { ...host.metadata, annotations } });
    },
  );
  expect(await crashAfter(1, play.concern, scene)).toBe(true);
  await goneForGood(scene);

  const deletion = await eventAbout(scene.template, "delete");
  expect(await postCloudEvent(survivors["retain-templates"].url, deletion)).toMatchObject({ status: 200 });

  const { metadata } = await backAgain(scene);
  expect(metadata.annotations?.[retiredAt]).toBeDefined();
  await nothingElseIsLeft();
});
