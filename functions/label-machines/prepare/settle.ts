import type { Act, Context } from "../../../shared/acts/context.ts";
import { tell } from "../../../shared/acts/tell.ts";
import { type ClusterError, failedWith } from "../../../shared/cluster/cluster.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../../shared/objects/object.ts";
import { logDecision } from "../act/log-decision.ts";
import { refusal } from "../decide.ts";
import { tellRefusal, withdrawRefusal } from "../explain.ts";
import { ADOPT, ALLOW_ROLLOUT } from "../marks.ts";
import { isV1beta1 } from "../survey/read.ts";
import { serviceAccountOf } from "../survey/service-account.ts";
import { decidePreparation, type Preparation } from "./decide.ts";
import { gatherPreparation } from "./facts.ts";

const ROUNDS = 5;

/**
 * Writes a control plane for a Cluster that has none, if everything speaks for it. Returns what was done; the adoption
 * itself then goes its usual way on the control plane.
 *
 * Throws a ClusterError when a read or write fails; a later try finds what was written and goes on.
 */
export async function settlePreparation(context: Context, key: ObjectKey, isSweep: boolean): Promise<readonly Act[]> {
  for (let round = 1; ; round += 1) {
    const facts = await gatherPreparation(context.cluster, key, serviceAccountOf(context.settings));
    if (facts === undefined) return [];
    const preparation = decidePreparation(facts, context.now());
    logDecision(context.log, key, preparation);
    try {
      return await carryOut(context, facts.cluster, preparation, isSweep);
    } catch (error) {
      if (!failedWith(error, "conflict") || round === ROUNDS) throw error;
    }
  }
}

async function carryOut(
  context: Context,
  cluster: KubeObject,
  preparation: Preparation,
  isSweep: boolean,
): Promise<readonly Act[]> {
  if (preparation.verdict === "leave") {
    if (preparation.because === "has-control-plane") await withdrawRefusal(context, cluster);
    return [];
  }
  if (preparation.verdict === "refuse") {
    await tellRefusal(context, cluster, preparation, isSweep);
    return [];
  }
  const { template, controlPlane } = preparation;
  const bodies = template === undefined ? [controlPlane] : [template, controlPlane];
  for (const body of bodies) {
    const against = await objectionTo(context, body);
    if (against === undefined) continue;
    const message = `${body.kind} ${body.metadata.name} would not be accepted: ${against.message}`;
    const invalid = refusal([{ reason: "control-plane-invalid", message, object: keyOf(body) }]);
    await tellRefusal(context, cluster, invalid, isSweep);
    return [];
  }
  const isWithdrawn = await withdrawRefusal(context, cluster);
  for (const body of bodies) await created(context, body);
  const live = isWithdrawn ? await context.cluster.get(keyOf(cluster)) : cluster;
  if (live !== undefined) await nameControlPlane(context, live, controlPlane);
  return [{ noun: "control-plane", done: "created", object: keyOf(controlPlane), because: preparation.because }];
}

/** What the API server has against the creation; what stands already was accepted once. */
async function objectionTo({ cluster }: Context, body: KubeObject): Promise<ClusterError | undefined> {
  try {
    await cluster.create(body, { dryRun: true });
    return undefined;
  } catch (error) {
    if (failedWith(error, "already-exists")) return undefined;
    if (failedWith(error, "invalid", "forbidden", "not-found")) return error;
    throw error;
  }
}

async function created({ cluster }: Context, body: KubeObject): Promise<void> {
  try {
    await cluster.create(body);
  } catch (error) {
    if (!failedWith(error, "already-exists")) throw error;
  }
}

/** Names the control plane in the Cluster, and hands the opt-in over to it in the same write. */
async function nameControlPlane(context: Context, cluster: KubeObject, controlPlane: KubeObject): Promise<void> {
  const { apiVersion } = controlPlane;
  const { group: apiGroup, kind, namespace, name } = keyOf(controlPlane);
  const controlPlaneRef = isV1beta1(cluster) ? { apiVersion, kind, namespace, name } : { apiGroup, kind, name };
  const annotations = { [ADOPT]: null, [ALLOW_ROLLOUT]: null };
  await context.cluster.patch(cluster, { metadata: { annotations }, spec: { controlPlaneRef } });
  const note = `${kind} ${name} was written from the live machines, paused; their adoption goes on there.`;
  await tell(context, { regarding: cluster, type: "Normal", reason: "ControlPlanePrepared", action: "Adopt", note });
}
