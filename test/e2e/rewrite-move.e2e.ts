import { beforeAll, describe, expect, test } from "vitest";
import { kubeadmConfigTemplate } from "./harness/capi-objects.ts";
import { refOf, valueAt } from "./harness/objects.ts";
import { stays } from "./harness/wait.ts";
import { untilRolledOut } from "./harness/workload.ts";
import type { HostLog } from "./scenario/host-images.ts";
import { controlPlaneMachines, untilControlPlaneRuns } from "./scenario/kubeadm-control-plane.ts";
import { inTime } from "./scenario/patience.ts";
import {
  controlPlaneRef,
  type Inventory,
  installCluster,
  inventoryOf,
  moveCluster,
  type Side,
  startSide,
  workersIn,
} from "./scenario/pivot.ts";
import {
  imageUrlOf,
  jsonMark,
  notesOn,
  ownersOfImageUrl,
  rewrittenFrom,
  startRewriter,
  templateUrl,
} from "./scenario/rewriter.ts";

let management: Side;
let oldUrl: string;
let newUrl: string;
/** What the target held once the move was done and before any event of it was passed on. */
let arrived: Inventory;
/** What it held once those events and a sweep were handled. */
let rewritten: Inventory;

/** A rolling upgrade of the workers that changes nothing in the image. */
async function changeBootstrap(namespace: string): Promise<void> {
  const { api } = management.controlPlane;
  const config = kubeadmConfigTemplate(namespace, "workers-2", { preKubeadmCommands: ["echo two"] });
  await api.create(config);
  const spec = { bootstrap: { configRef: { name: config.metadata.name } } };
  await api.mergePatch(refOf(await workersIn(api, namespace)), { spec: { template: { spec } } });
}

async function scaleControlPlane(namespace: string): Promise<void> {
  await management.controlPlane.api.mergePatch(controlPlaneRef(namespace), { spec: { replicas: 2 } });
}

/** What the hosts tried at the target, in order. */
function attemptsIn(namespace: string): HostLog[] {
  return management.hosts.log.filter((one) => one.namespace === namespace);
}

beforeAll(async () => {
  management = await startSide("management");
  const bootstrap = await startSide("bootstrap", management);
  oldUrl = `${bootstrap.images.url}/images/node.qcow2`;
  newUrl = `${management.images.url}/images/node.qcow2`;
  await Promise.all(["without", "with"].map((namespace) => installCluster(bootstrap, management, namespace)));
  await moveCluster(bootstrap, management, "without");
  const rule = { from: `${bootstrap.images.url}/`, to: `${management.images.url}/`, namespaces: ["with"] };
  const rewriter = await startRewriter(management.controlPlane, [rule]);
  // Held up, so that what a move brings along can be told from what the function does to it.
  rewriter.relay.pause();
  await moveCluster(bootstrap, management, "with");
  arrived = await inventoryOf(management, "with");
  rewriter.relay.resume();
  await rewriter.idle();
  await rewriter.sweep();
  rewritten = await inventoryOf(management, "with");
  await bootstrap.switchOff();
}, 900_000);

describe("without the function", () => {
  test("the bootstrap cluster is gone and a rolling upgrade changes nothing in the image -> the new machine's host asks the old address in vain, and the rollout stands still", async () => {
    const { api } = management.controlPlane;
    await changeBootstrap("without");
    await inTime("a host to ask in vain", () => attemptsIn("without").length >= 3);
    await stays(
      "the standstill",
      async () => {
        const counts = valueAt(await workersIn(api, "without"), "status", "upToDateReplicas");
        return counts === 0 || counts === 1 ? undefined : `${String(counts)} new machines run`;
      },
      { forMs: 5000 },
    );
    expect(new Set(attemptsIn("without").map(({ url, outcome }) => `${outcome} ${url}`))).toEqual(
      new Set([`failed ${oldUrl}`]),
    );
    const { status } = await workersIn(api, "without");
    expect(valueAt(status, "availableReplicas")).toBe(2);
  });

  test("story 11: the control plane is scaled up after the move -> its new machine has the address of the host that was switched off", async () => {
    const { api } = management.controlPlane;
    const before = new Set(attemptsIn("without").map(({ host }) => host));
    await scaleControlPlane("without");
    await inTime("another machine", async () => (await controlPlaneMachines(api, "without")).length === 2);
    const further = await inTime("its host to ask", () => attemptsIn("without").find(({ host }) => !before.has(host)));
    expect(further).toMatchObject({ url: oldUrl, outcome: "failed" });
  });
});

describe("with the function", () => {
  test("the namespace was moved -> its templates have the living cluster's address and still belong to Helm; no machine rolled, no host was written", async () => {
    expect(arrived.templates.map(imageUrlOf)).toEqual([oldUrl, oldUrl]);
    expect(rewritten.templates.map(imageUrlOf)).toEqual([newUrl, newUrl]);
    for (const template of rewritten.templates) {
      expect(jsonMark(template, rewrittenFrom)).toEqual({ [templateUrl]: oldUrl });
      expect(ownersOfImageUrl(template)).toEqual(["helm Apply"]);
      const [note] = await notesOn(management.controlPlane.api, template, "UrlsRewritten");
      expect(note).toContain(`${oldUrl} is now ${newUrl}`);
    }
    expect(arrived.hosts).toHaveLength(5);
    // Byte for byte: the same resourceVersion, managedFields and all.
    expect(rewritten.hosts).toEqual(arrived.hosts);
    expect(arrived.machines).toHaveLength(3);
    expect(rewritten.machines).toEqual(arrived.machines);
    expect(rewritten.makers).toEqual(arrived.makers);
    await stays(
      "the machines",
      async () => {
        const { machines } = await inventoryOf(management, "with");
        return machines.join() === arrived.machines.join() ? undefined : "there are others";
      },
      { forMs: 5000 },
    );
  });

  test("the bootstrap cluster is gone and a rolling upgrade changes nothing in the image -> every new machine's host gets it from the living cluster", async () => {
    const { api } = management.controlPlane;
    await changeBootstrap("with");
    await untilRolledOut(api, await workersIn(api, "with"));
    const attempts = attemptsIn("with").map(({ url, outcome }) => `${outcome} ${url}`);
    expect(attempts).toEqual(Array(2).fill(`fetched ${newUrl}`));
  });

  test("story 11: the control plane is scaled up after the move -> its new machine has the living cluster's address and runs", async () => {
    const { api } = management.controlPlane;
    const before = attemptsIn("with").length;
    await scaleControlPlane("with");
    await untilControlPlaneRuns(api, controlPlaneRef("with"));
    const attempts = attemptsIn("with").slice(before);
    expect(attempts.map(({ url, outcome }) => `${outcome} ${url}`)).toEqual([`fetched ${newUrl}`]);
    expect(management.hosts.errors).toEqual([]);
  });
});
