import { handle as label } from "../../functions/label-machines/index.ts";
import { isPaused } from "../../shared/graph/owning-clusters.ts";
import { CLUSTER_NAME } from "../../shared/marks/marks.ts";
import { CONTROL_PLANE, CORE } from "../../shared/objects/kinds.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../shared/objects/object.ts";
import { mustGet } from "./machines.ts";
import type { Narrator } from "./narrator.ts";
import { createWorld, type World } from "./world.ts";

const CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane";
const KCP: ObjectKey = { group: CONTROL_PLANE, kind: "KubeadmControlPlane", namespace: "edge", name: "mgmt" };
const CA: ObjectKey = { group: "", kind: "Secret", namespace: "edge", name: "mgmt-ca" };

/** Three single machines come under a KubeadmControlPlane: none while anything speaks against it, then all. */
export async function adoption(objects: readonly KubeObject[], say: Narrator): Promise<void> {
  const world = await createWorld(objects, { functions: { "label-machines": label }, hear: say.hear });
  try {
    await play(world, say);
  } finally {
    await world.close();
  }
}

async function play(world: World, say: Narrator): Promise<void> {
  const { cluster } = world;
  say.title("Adoption: single control-plane machines and a KubeadmControlPlane, opted in and paused");
  say.step("the secret of the CA is missing: an adopting control plane would make a new CA");
  const secret = await mustGet(cluster, CA);
  await cluster.delete(secret);
  await world.sweep();
  say.expect("machines labelled", machines(world).filter(isLabelled).length, 0);
  say.expect(
    "the refusal says",
    (await mustGet(cluster, KCP)).metadata.annotations?.["capi-caretaker.io/adoption-refused"] ?? "",
    "secret-missing",
  );
  say.step("the secret is back: every check passes and nothing would roll out");
  await cluster.create({ ...secret, metadata: { name: CA.name, namespace: CA.namespace } });
  await world.sweep();
  say.expect("machines labelled", machines(world).filter(isLabelled).length, 3);
  say.expect("is the control plane still paused", isPaused(await mustGet(cluster, KCP)), false);
  say.step("the control plane takes them as their controller");
  await adopt(world);
  await world.settle();
  say.expect(
    "is the opt-in still there",
    "capi-caretaker.io/adopt" in ((await mustGet(cluster, KCP)).metadata.annotations ?? {}),
    false,
  );
  say.expect("machines", machines(world).length, 3);
}

/** What the real controller does with labelled machines that have none. */
async function adopt({ cluster }: World): Promise<void> {
  const { apiVersion, kind, metadata } = await mustGet(cluster, KCP);
  const controller = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
  for (const machine of await cluster.list({ group: CORE, kind: "Machine" })) {
    if (!isLabelled(machine)) continue;
    await cluster.patch(machine, {
      metadata: { ownerReferences: [...(machine.metadata.ownerReferences ?? []), controller] },
    });
  }
  await cluster.patch(await mustGet(cluster, KCP), { status: { replicas: 3 } });
}

function isLabelled({ metadata }: KubeObject): boolean {
  return metadata.labels?.[CONTROL_PLANE_LABEL] !== undefined && metadata.labels[CLUSTER_NAME] !== undefined;
}

function machines(world: World): readonly KubeObject[] {
  return world.cluster.all().filter((object) => keyOf(object).kind === "Machine");
}
