import { beforeAll, expect, test } from "vitest";
import { startCapi } from "./harness/capi.ts";
import { coreVersion } from "./harness/capi-objects.ts";
import type { ControlPlane } from "./harness/control-plane.ts";
import { startManagementCluster } from "./harness/management-cluster.ts";
import { refOf } from "./harness/objects.ts";
import { startStandIn } from "./harness/stand-in.ts";
import { eventually, stays } from "./harness/wait.ts";
import { type ClassCluster, createClassCluster, ownedTemplate, reconcileTopology } from "./scenario/class-cluster.ts";
import { type ImageServer, startImageServer } from "./scenario/image-server.ts";
import { imageUrlOf, notesOn, startRewriter } from "./scenario/rewriter.ts";

let controlPlane: ControlPlane;
let old: ImageServer;
let next: ImageServer;
let oldUrl: string;

beforeAll(async () => {
  controlPlane = await startManagementCluster();
  await startCapi("capi-core", controlPlane, { featureGates: { ClusterTopology: true } });
  startStandIn(controlPlane.api);
  [old, next] = [await startImageServer(), await startImageServer()];
  oldUrl = `${old.url}/images/node.qcow2`;
});

/** The names of the workers' machines, which a rollout changes. */
async function machinesOf({ cluster: { namespace = "" } }: ClassCluster): Promise<string[]> {
  const machines = await controlPlane.api.list({ apiVersion: coreVersion, kind: "Machine", namespace });
  return machines.map(({ metadata }) => metadata.name).toSorted();
}

test("without: a policy patches the template that the topology controller made -> it is replaced by one with the old URL, and all machines roll", async () => {
  const { api } = controlPlane;
  const made = await createClassCluster(controlPlane, "class-without", oldUrl);
  const [before, template] = [await machinesOf(made), await ownedTemplate(api, made)];
  const spec = { template: { spec: { image: { url: `${next.url}/images/node.qcow2` } } } };
  await api.mergePatch(refOf(template), { spec });
  await reconcileTopology(api, made);

  await eventually("another template", async () => {
    const replaced = await ownedTemplate(api, made);
    return replaced.metadata.name !== template.metadata.name && imageUrlOf(replaced) === oldUrl;
  });
  await eventually(
    "all machines to be new",
    async () => {
      const now = await machinesOf(made);
      return now.length === 2 && now.every((name) => !before.includes(name));
    },
    { timeoutMs: 180_000 },
  );
});

test("a ClusterClass cluster holds the old address -> the class's template and the one made from it are refused, and no machine rolls", async () => {
  const { api } = controlPlane;
  const made = await createClassCluster(controlPlane, "class-with", oldUrl);
  const [before, template] = [await machinesOf(made), await ownedTemplate(api, made)];
  const named = await api.get(refOf(made.classTemplate));
  if (named === undefined) throw new Error("the class lost its template");
  const rewriter = await startRewriter(controlPlane, [
    { from: `${old.url}/`, to: `${next.url}/`, namespaces: ["class-with"] },
  ]);
  await rewriter.sweep();

  const [owned] = await eventually("its refusal", () => refusals(template));
  expect(owned).toMatch(/^spec\.template\.spec\.image\.url: the topology controller would replace it/);
  const [classes] = await eventually("the refusal of the class's template", () => refusals(named));
  expect(classes).toMatch(/^spec\.template\.spec\.image\.url: a ClusterClass uses it/);

  await reconcileTopology(api, made);
  await stays(
    "the machines",
    async () => {
      const now = await machinesOf(made);
      return now.join() === before.join() ? undefined : `they are ${now.join()}`;
    },
    { forMs: 5000 },
  );
  const live = await ownedTemplate(api, made);
  expect([live.metadata.name, imageUrlOf(live)]).toEqual([template.metadata.name, oldUrl]);
  expect(await api.get(refOf(named))).toEqual(named);
});

async function refusals(object: Parameters<typeof notesOn>[1]): Promise<string[] | undefined> {
  const notes = await notesOn(controlPlane.api, object, "RewriteRefused");
  return notes.length === 0 ? undefined : notes;
}
