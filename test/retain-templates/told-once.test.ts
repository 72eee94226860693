import { expect, test } from "vitest";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import { ClusterError } from "../../shared/cluster/cluster.ts";
import { type Bench, bench } from "../build/bench.ts";
import {
  cluster,
  finalizedBy,
  inNamespace,
  machineSet,
  metal3Machine,
  metal3MachineTemplate,
  object,
  ownedBy,
} from "../build/objects.ts";

const mgmt = cluster();
const t = ownedBy(metal3MachineTemplate("t"), mgmt);
const THOUSAND = Array.from({ length: 1000 }, (_, index) => metal3Machine(`m-${index}`, { clonedFrom: t }));

const told = (b: Bench, reason: string) => b.cluster.events().filter((event) => event.reason === reason);

test("an upgrade strips the hold each time -> held again, one Event", async () => {
  const b = bench([t]);
  for (let upgrade = 0; upgrade < 3; upgrade += 1) {
    await b.send(retain, "update", t);
    await b.cluster.patch(await b.live(t), { metadata: { finalizers: null } });
  }
  expect(told(b, "TemplateHeld")).toHaveLength(1);
});

test("its source begins to set sync options -> another reason to be held, another Event", async () => {
  const tracking = "app:infrastructure.cluster.x-k8s.io/Metal3MachineTemplate:sylva/t";
  const b = bench([t]);
  await b.send(retain, "update", t);
  const annotations = { "argocd.argoproj.io/tracking-id": tracking, "argocd.argoproj.io/sync-options": "Prune=true" };
  await b.cluster.patch(await b.live(t), { metadata: { annotations, finalizers: null } });
  await b.send(retain, "update", await b.live(t));
  expect(told(b, "TemplateHeld").map(({ type }) => type)).toEqual(["Normal", "Warning"]);
});

test("a thousand machines need a template that got away -> one Event, which names a few", async () => {
  const b = bench([mgmt, t, ...THOUSAND]);
  await b.cluster.delete(await b.live(t));
  await b.send(retain, "delete", b.changes.findLast(({ type }) => type === "delete")?.object ?? t);
  const [event, ...others] = told(b, "TemplateRestored");
  expect(others).toEqual([]);
  expect(event?.note.match(/Metal3Machine\//g)).toHaveLength(3);
});

test("a thousand machines and a MachineSet need one that is lost -> one Event for each kind, however often it is told", async () => {
  const set = machineSet("s", { uses: t });
  const b = bench([mgmt, t, ...THOUSAND, set], {}, (inner) => ({
    ...inner,
    deleted: async () => Promise.reject(new ClusterError("expired", "too old")),
  }));
  await b.cluster.delete(await b.live(t));
  for (let time = 0; time < 2; time += 1) await b.send(retain, "delete", t);
  expect(
    told(b, "TemplateLost")
      .map(({ regarding }) => regarding.kind)
      .sort(),
  ).toEqual(["MachineSet", "Metal3Machine"]);
});

test("a source watches more kinds of a version that is gone -> one Event; the version is served without one -> a second", async () => {
  const [gone, kept] = ["infrastructure.cluster.x-k8s.io/v1alpha5", "infrastructure.cluster.x-k8s.io/v1beta1"];
  const watching = (...resources: readonly unknown[]) =>
    inNamespace(object("ApiServerSource.sources.knative.dev/v1", "s", { spec: { resources } }), "capi-caretaker");
  const first = watching({ apiVersion: gone, kind: "Metal3Machine" });
  const b = bench([finalizedBy(t, "x/y"), first]);
  const watch = async (...resources: readonly unknown[]) =>
    b.cluster.patch(await b.live(first), { spec: { resources } });
  await b.sweep(retain);
  await watch({ apiVersion: gone, kind: "Metal3Machine" }, { apiVersion: gone, kind: "Metal3Data" });
  await b.sweep(retain);
  expect(told(b, "WatchedVersionNotServed")).toHaveLength(1);
  await watch({ apiVersion: kept, kind: "Metal3Data" });
  await b.sweep(retain);
  expect(told(b, "WatchedVersionNotServed")).toHaveLength(2);
});
