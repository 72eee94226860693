import { z } from "zod";
import type { Cluster } from "../cluster/cluster.ts";
import { isTerminating, KubeObject, keyOf } from "../objects/object.ts";
import { type Answer, answer, type Lists, unknown } from "./answer.ts";
import type { Owner } from "./owner.ts";

const APPLICATION = { group: "argoproj.io", kind: "Application" };

/** How an Application names the cluster that Argo CD runs in (argo-cd common/common.go, pkg/apis/application/v1alpha1). */
const THIS_CLUSTER = { server: "https://kubernetes.default.svc", name: "in-cluster" };

/** argo-cd gitops-engine/pkg/sync/common/types.go, OperationPhase. */
const PHASES = ["Running", "Terminating", "Failed", "Error", "Succeeded"] as const;

const Resource = z.looseObject({
  group: z.string().default(""),
  kind: z.string(),
  namespace: z.string().default(""),
  name: z.string(),
  requiresPruning: z.boolean().default(false),
});
const Application = KubeObject.extend({
  spec: z.looseObject({
    destination: z.looseObject({ server: z.string().default(""), name: z.string().default("") }),
  }),
  operation: z.unknown().optional(),
  status: z.looseObject({
    sync: z.looseObject({ status: z.string() }),
    operationState: z.looseObject({ phase: z.enum(PHASES) }).optional(),
    controllerNamespace: z.string().optional(),
    conditions: z.array(z.looseObject({ type: z.string() })).nullish(),
    resources: z.array(Resource).nullish(),
  }),
});
type Application = z.infer<typeof Application>;

/**
 * The resources of an Argo CD Application, as its last comparison with the source found them
 * (argo-cd controller/state.go, CompareAppState).
 */
export async function readApplication(cluster: Cluster, { namespace, name }: Owner): Promise<Lists> {
  const found = await findApplications(cluster, namespace, name);
  const [only, ...others] = found;
  if (only === undefined) return unknown("no-record");
  // Where an id does not tell the namespace, Argo CD's own is meant, and which one that is nobody says.
  if (others.length > 0) return unknown("several-of-that-name");
  const parsed = Application.safeParse(only);
  if (!parsed.success) return unknown("unsettled");
  if (namespace === undefined && isElsewhere(parsed.data)) return unknown("in-another-namespace");
  const unsettled = whyUnsettled(parsed.data);
  const resources = parsed.data.status.resources ?? [];
  if (unsettled !== undefined) return unknown(unsettled);
  if (resources.length === 0) return unknown("no-resources");
  return (template) => entryOf(template, resources);
}

async function findApplications(cluster: Cluster, namespace: string | undefined, name: string) {
  if (namespace === undefined) {
    const all = await cluster.list(APPLICATION);
    return all.filter(({ metadata }) => metadata.name === name);
  }
  const one = await cluster.get({ ...APPLICATION, namespace, name });
  return one === undefined ? [] : [one];
}

/** The one of that name that can be seen is not in Argo CD's own namespace: an id of it would tell its namespace. */
function isElsewhere({ metadata, status }: Application): boolean {
  return status.controllerNamespace !== undefined && status.controllerNamespace !== metadata.namespace;
}

/** A name may be given to this cluster as well as to another: then it is not known to be this one. */
function isForThisCluster({ server, name }: Application["spec"]["destination"]): boolean {
  return server === THIS_CLUSTER.server || (server === "" && name === THIS_CLUSTER.name);
}

function whyUnsettled(application: Application): string | undefined {
  const { operation, spec, status } = application;
  const { sync, operationState, conditions } = status;
  if (isTerminating(application)) return "terminating";
  if (!isForThisCluster(spec.destination)) return "for-another-cluster";
  if (operation !== undefined && operation !== null) return "operation-requested";
  if (operationState !== undefined && operationState.phase !== "Succeeded") {
    return `operation-${operationState.phase.toLowerCase()}`;
  }
  if (sync.status !== "Synced") return "not-synced";
  return conditions?.some(({ type }) => type.endsWith("Error")) ? "error-condition" : undefined;
}

function entryOf(template: KubeObject, resources: readonly z.infer<typeof Resource>[]): Answer {
  const { group, kind, namespace, name } = keyOf(template);
  const entries = resources.filter(
    (one) => one.group === group && one.kind === kind && one.namespace === namespace && one.name === name,
  );
  if (entries.length > 0) return answer(entries.some(({ requiresPruning }) => !requiresPruning));
  // What has an owner reference is not listed any more once its source drops it (gitops-engine pkg/cache/cluster.go,
  // GetManagedLiveObjs); what has none would be listed as one to prune.
  const isOwned = (template.metadata.ownerReferences ?? []).length > 0;
  return isOwned ? answer(false) : { lists: "unknown", reason: "not-among-resources" };
}
