import { CORE } from "../../../shared/objects/kinds.ts";
import { groupOf, isTerminating, keyOf } from "../../../shared/objects/object.ts";
import type { AdoptionFacts, Reason } from "../facts.ts";
import { isMeant, isTrueAt, numberAt, refAt, textAt } from "../survey/read.ts";

/** What speaks against an adoption in the Cluster and the control plane themselves. */
export function clusterReasons(facts: AdoptionFacts): readonly Reason[] {
  return [...capi(facts), ...owner(facts), ...infrastructure(facts), ...template(facts)];
}

function capi({ isCapiTooOld }: AdoptionFacts): readonly Reason[] {
  if (!isCapiTooOld) return [];
  const message = "The installed Cluster API is older than 1.12, whose rules the forecast knows; upgrade it first.";
  return [{ reason: "capi-too-old", message }];
}

function owner({ controlPlane, cluster, clusterName }: AdoptionFacts): readonly Reason[] {
  const object = keyOf(controlPlane);
  const reasons: Reason[] = [];
  if (isTerminating(controlPlane)) {
    reasons.push({ reason: "control-plane-terminating", message: "The control plane is being deleted.", object });
  }
  if (cluster === undefined) {
    const message = `No Cluster${clusterName === "" ? "" : ` ${clusterName}`} owns this control plane or names it.`;
    return [...reasons, { reason: "cluster-not-found", message, object }];
  }
  if (isTerminating(cluster)) {
    reasons.push({ reason: "cluster-terminating", message: "The Cluster is being deleted.", object: keyOf(cluster) });
  }
  const ref = refAt(cluster, "spec.controlPlaneRef");
  if (ref?.group !== object.group || ref.kind !== object.kind || ref.name !== object.name) {
    const message = `spec.controlPlaneRef of Cluster ${clusterName} does not name ${object.kind} ${object.name}.`;
    reasons.push({ reason: "not-named-by-cluster", message, object: keyOf(cluster) });
  }
  const owners = controlPlane.metadata.ownerReferences ?? [];
  const isOwned = owners.some((one) => groupOf(one.apiVersion) === CORE && isMeant(one, cluster));
  if (!isOwned) {
    const message = `It has no ownerReference to Cluster ${clusterName}; Cluster API sets one from spec.controlPlaneRef while the Cluster is not paused.`;
    reasons.push({ reason: "not-owned-by-cluster", message, object });
  }
  return reasons;
}

function infrastructure({ cluster }: AdoptionFacts): readonly Reason[] {
  if (cluster === undefined) return [];
  const object = keyOf(cluster);
  const reasons: Reason[] = [];
  if (!isTrueAt(cluster, "status.initialization.infrastructureProvisioned", "status.infrastructureReady")) {
    const message = "The Cluster's infrastructure is not provisioned, and before that nothing is adopted.";
    reasons.push({ reason: "infrastructure-not-provisioned", message, object });
  }
  const hasEndpoint =
    textAt(cluster, "spec.controlPlaneEndpoint.host") && numberAt(cluster, "spec.controlPlaneEndpoint.port");
  if (!hasEndpoint) {
    const message =
      "spec.controlPlaneEndpoint of the Cluster has no host and port, and before that nothing is adopted.";
    reasons.push({ reason: "no-control-plane-endpoint", message, object });
  }
  return reasons;
}

function template({ template: found, controlPlane }: AdoptionFacts): readonly Reason[] {
  if (found === undefined) {
    const message = "The control plane names no infrastructure template.";
    return [{ reason: "infrastructure-template-missing", message, object: keyOf(controlPlane) }];
  }
  const { key, state } = found;
  if (state === "there") return [];
  const what = `${key.kind} ${key.name}, the infrastructure template of the control plane,`;
  return state === "missing"
    ? [{ reason: "infrastructure-template-missing", message: `${what} does not exist.`, object: key }]
    : [{ reason: "infrastructure-template-unreadable", message: `${what} cannot be read.`, object: key }];
}
