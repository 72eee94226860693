import { beforeAll, describe, expect, test } from "vitest";
import { startCapi } from "./harness/capi.ts";
import type { CloudEvent } from "./harness/cloud-event.ts";
import type { Passage } from "./harness/cluster-network.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { type DataPlane, startDataPlane } from "./harness/data-plane.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { metal3MachineTemplate } from "./harness/metal3-objects.ts";
import { type Fields, type KubeObject, type ObjectRef, refOf, valueAt } from "./harness/objects.ts";
import { startJournal } from "./scenario/journal.ts";
import { hold, isHeld, untilGone, untilHeld } from "./scenario/marks.ts";
import { inTime, unhurried } from "./scenario/patience.ts";
import { type Recorder, startRecorder } from "./scenario/recorder.ts";
import { foundNodeReuse, installed, type Rollout, running, untilSettled, upgradedTo } from "./scenario/rollout.ts";
import { isRetired, templatesTitled, untilOnlyTheUsedAreLeft } from "./scenario/settled.ts";
import { templatesIn, titleOf } from "./scenario/workers.ts";

const home = "capi-caretaker";
let controlPlane: ControlPlane;
let dataPlane: DataPlane;
/** What another Trigger on the Broker `events` gets of the functions' replies. */
let replies: Recorder;
/** What a Trigger on the Broker `dead-letters` gets. */
let dead: Recorder;

function triggerTo(name: string, broker: string, spec: Fields, { url }: Recorder): KubeObject {
  const metadata = { name, namespace: home };
  return {
    apiVersion: "eventing.knative.dev/v1",
    kind: "Trigger",
    metadata,
    spec: { broker, subscriber: { uri: url }, ...spec },
  };
}

const triggerRef = (name: string): ObjectRef => {
  return { apiVersion: "eventing.knative.dev/v1", kind: "Trigger", namespace: home, name };
};

/** The attempts to deliver events about an object of that name to a function, in order. */
function attempts(name: string, object: string): Passage[] {
  const { host } = dataPlane.functionNamed(name);
  return dataPlane.network.passages.filter((passage) => passage.host === host && passage.event.name === object);
}

async function newTemplate(namespace: string, name: string): Promise<KubeObject> {
  await controlPlane.api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  return controlPlane.api.create(metal3MachineTemplate({ namespace, name, version: "v1beta1" }));
}

/** A release whose templates are held, in the middle of a rollout: an old machine is Terminating and is kept so. */
async function midRollout(namespace: string): Promise<Rollout> {
  const rollout = await installed(controlPlane, namespace, { helm: 3, replicas: 2 });
  await untilHeld(controlPlane.api, ...(await templatesIn(rollout)));
  rollout.standIn.holdDeletions();
  await upgradedTo(rollout, "two");
  await inTime("an old machine to be Terminating", async () => (await running(rollout, "old")).length === 1);
  await inTime("the old templates to be retired", async () => {
    return (await templatesTitled(rollout, rollout.old.titles)).every(isRetired);
  });
  return rollout;
}

beforeAll(async () => {
  controlPlane = await startManagementCluster({ audit: true });
  await startCapi("capi-core", controlPlane);
  dataPlane = await startDataPlane(controlPlane, { overlay: "minimal" });
  [replies, dead] = [await startRecorder(), await startRecorder()];
  const ours = { filters: [{ prefix: { type: "io.capi-caretaker." } }] };
  await dataPlane.add(triggerTo("of-replies", "events", ours, replies));
  await dataPlane.add(triggerTo("of-dead-letters", "dead-letters", {}, dead));
});

describe("the overlay minimal on Knative's ingress, channel and filter", unhurried, () => {
  test("a release is upgraded during a rollout -> each old template is there until its last machine is gone, then collected; replies reach another Trigger and no function", async () => {
    const journal = startJournal(controlPlane.api, "story");
    const rollout = await midRollout("story");
    const held = await templatesTitled(rollout, rollout.old.titles);
    expect(held.map(({ metadata }) => [metadata.deletionTimestamp !== undefined, metadata.finalizers])).toEqual(
      Array(3).fill([true, [hold]]),
    );
    rollout.standIn.release();
    await untilSettled(rollout);
    await untilOnlyTheUsedAreLeft(rollout);

    expect(foundNodeReuse(rollout)).toEqual([true, true]);
    expect(rollout.standIn.errors).toEqual([]);
    const departures = await inTime("the old templates' departures", () => {
      const seen = journal.departures();
      return seen.length === 3 && seen.every(({ after }) => after === 0) ? seen : undefined;
    });
    expect(departures.map(({ template }) => template).toSorted()).toEqual(rollout.old.titles.toSorted());

    const told = (type: string): string[] => {
      const meant = replies.events.filter(({ attributes }) => attributes.type === type);
      return meant.map(({ data }) => JSON.stringify(data));
    };
    await inTime("a reply about each hold and each departure", () => {
      const names = held.map(({ metadata }) => metadata.name);
      return ["io.capi-caretaker.template.held", "io.capi-caretaker.template.collected"].every((type) =>
        names.every((name) => told(type).some((text) => text.includes(name))),
      );
    });
    const toFunctions = dataPlane.network.passages.filter(({ host }) => host.endsWith(`.${home}.svc.cluster.local`));
    const fed = toFunctions.filter(
      ({ host, event }) => !host.includes("-kn-channel.") && event.type?.startsWith("io."),
    );
    expect([toFunctions.length > 0, fed]).toEqual([true, []]);
    expect(dead.events).toEqual([]);
  });

  test("a function answers 503 for a moment -> the event is sent again until it is done", async () => {
    const { apiServer } = dataPlane.functionNamed("retain-templates");
    apiServer.cut();
    const template = await newTemplate("retried", "retried");
    await inTime("two attempts", () => attempts("retain-templates", "retried").length >= 2);
    apiServer.mend();
    await untilHeld(controlPlane.api, template);

    const adds = attempts("retain-templates", "retried").filter(({ event }) => event.type?.endsWith(".add"));
    await inTime("the last answer", () => attempts("retain-templates", "retried").some(({ status }) => status === 200));
    expect(adds.slice(0, 2).map(({ status }) => status)).toEqual([503, 503]);
    expect(new Set(adds.map(({ event }) => event.id)).size).toBe(1);
  });

  test("functions are down for longer than the retries last -> the events end whole in the dead-letter sink, and a sweep heals", async () => {
    const names = ["retain-templates", "collect-templates"];
    const unneeded = await newTemplate("down", "unneeded");
    await untilHeld(controlPlane.api, unneeded);
    for (const name of names) await dataPlane.functionNamed(name).kill();

    const created = await newTemplate("down", "unheld");
    await controlPlane.api.delete(refOf(unneeded));
    const [retain, collect] = names.map((name) => `http://${dataPlane.functionNamed(name).host}`);
    const deadFor = (receiver: string | undefined, name: string): CloudEvent | undefined =>
      dead.events.find(({ attributes }) => attributes.name === name && attributes.knativeerrordest === receiver);
    const letter = await inTime("the dead letter of the new template", () => deadFor(retain, "unheld"));
    await inTime(
      "the dead letters of the deleted one",
      () => deadFor(retain, "unneeded") && deadFor(collect, "unneeded"),
    );

    const [first] = attempts("retain-templates", "unheld");
    const { specversion, id, type, source, subject, kind, partitionkey } = letter.attributes;
    expect({ specversion, id, type, source, subject, kind, partitionkey }).toEqual({
      specversion: "1.0",
      id: first?.event.id,
      type: "dev.knative.apiserver.resource.add",
      source: controlPlane.url,
      subject: `/apis/${created.apiVersion}/namespaces/down/metal3machinetemplates/unheld`,
      kind: "Metal3MachineTemplate",
      partitionkey: "metal3",
    });
    expect(letter.data).toEqual(created);
    expect(letter.attributes).toMatchObject({ knativeerrordest: retain, knativeerrorcode: "503" });
    const retries = Number(
      valueAt(await controlPlane.api.get(triggerRef("retain-templates")), "spec", "delivery", "retry"),
    );
    expect(attempts("retain-templates", "unheld").map(({ status }) => status)).toEqual(Array(retries + 1).fill(503));
    expect(isHeld(await controlPlane.api.get(refOf(created)))).toBe(false);
    expect((await controlPlane.api.get(refOf(unneeded)))?.metadata.finalizers).toEqual([hold]);

    for (const name of names) await dataPlane.functionNamed(name).start();
    await dataPlane.sweep();
    await untilHeld(controlPlane.api, created);
    await untilGone(controlPlane.api, [unneeded]);
  });

  test("the channel dispatcher is killed in the middle of a rollout -> its events are lost, nothing needed is, and the next sweep ends what is not", async () => {
    const rollout = await midRollout("killed");
    await dataPlane.dispatcher.kill();
    rollout.standIn.release();
    await untilSettled(rollout);
    await inTime("two old machines to be gone", () => rollout.standIn.records.length === 2);
    const { passages } = dataPlane.network;
    const lost = passages.filter(({ host, status, event }) => {
      return host.startsWith("broker-ingress.") && status >= 500 && event.namespace === "killed";
    });
    expect(lost.map(({ event }) => `${event.type} ${event.kind}`)).toContain(
      "dev.knative.apiserver.resource.delete Metal3Machine",
    );
    // Whoever needed them is gone, and nobody was told.
    expect((await templatesTitled(rollout, rollout.old.titles)).every(isRetired)).toBe(true);
    expect(foundNodeReuse(rollout)).toEqual([true, true]);

    await dataPlane.dispatcher.start();
    await dataPlane.sweep();
    await untilOnlyTheUsedAreLeft(rollout);
    expect((await templatesIn(rollout)).map(titleOf).some((title) => rollout.old.titles.includes(title))).toBe(false);
  });

  test("what is no event, or too large a one, comes to the Broker -> it harms nobody", async () => {
    const broker = `http://broker-ingress.knative-eventing.svc.cluster.local/${home}/events`;
    expect(await dataPlane.network.post(broker, { "content-type": "application/json" }, "{}")).toBe(400);
    const headers = {
      "content-type": "application/json",
      "ce-specversion": "1.0",
      "ce-id": "too-large",
      "ce-type": "dev.knative.apiserver.resource.add",
      "ce-source": controlPlane.url,
      "ce-kind": "Metal3MachineTemplate",
      "ce-name": "too-large",
    };
    expect(await dataPlane.network.post(broker, headers, JSON.stringify({ text: "x".repeat(8 << 20) }))).toBe(202);
    const letter = await inTime("the dead letter", () =>
      dead.events.find(({ attributes }) => attributes.id === "too-large"),
    );
    expect(letter.attributes.knativeerrorcode).toBe("413");
    // The answer may overtake the body, and the filter then sees a broken connection and tries again.
    expect(new Set(attempts("retain-templates", "too-large").map(({ status }) => status))).toEqual(new Set([413]));
    await untilHeld(controlPlane.api, await newTemplate("afterwards", "afterwards"));
  });
});
