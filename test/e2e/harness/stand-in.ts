import { ApiError } from "./api.ts";
import type { Api } from "./api-types.ts";
import { bootstrapVersion } from "./capi-objects.ts";
import type { BetaVersion } from "./crds.ts";
import { follow } from "./follow.ts";
import { type Found, lookUpNodeReuse, type TemplateLookup } from "./node-reuse.ts";
import type { Kind, KubeObject } from "./objects.ts";
import {
  addFinalizer,
  bootstrap,
  dropFinalizer,
  isInTheMaking,
  isProvisioned,
  metal3Finalizer,
  provision,
} from "./stand-in-machines.ts";

/** One machine's deletion and what Metal3 would have found then. */
export interface NodeReuseRecord {
  machine: string;
  template: string | undefined;
  found: Found;
}

export interface StandInOptions {
  /** The version of Metal3's kinds that the cluster serves; v1beta1 by default. */
  metal3?: BetaVersion;
  /** The only namespace it looks after; all of them when left out. */
  namespace?: string;
  /** Where the machines' Nodes are; the same API server by default. */
  workload?: Api;
  /** `annotation` by default, as Metal3 up to 1.12. */
  lookup?: TemplateLookup;
  /** Takes back what a deleted machine had, before its finalizer goes and with it the machine. */
  releaseHost?: (metal3Machine: KubeObject) => Promise<void>;
  /** Bootstrap kinds to make ready; KubeadmConfig by default, none where their real manager runs. */
  bootstrapKinds?: readonly Kind[];
}

/** The infrastructure and bootstrap providers' place is taken by this; hosts are free, always there, and take no time. */
export interface StandIn {
  /** Every machine deletion so far, in order. */
  records: NodeReuseRecord[];
  /** No Metal3Machine, or none of those chosen, becomes ready from now on: a rollout stands still before its next replacement. */
  holdProvisioning(isChosen?: (metal3Machine: KubeObject) => boolean): void;
  /** No deleted machine is let go from now on: it stays Terminating. */
  holdDeletions(): void;
  /** Ends both. */
  release(): void;
  /** What went wrong and was tried again, conflicts left out. */
  errors: unknown[];
  stop(): Promise<void>;
}

/** Starts the stand-in. Runs in this process; it ends at teardown. */
export function startStandIn(api: Api, options: StandInOptions = {}): StandIn {
  const { metal3 = "v1beta1", namespace, lookup = "annotation", workload = api, releaseHost } = options;
  const { bootstrapKinds = [{ apiVersion: bootstrapVersion, kind: "KubeadmConfig" }] } = options;
  const records: NodeReuseRecord[] = [];
  const errors: unknown[] = [];
  const none = (): boolean => false;
  const scope = namespace === undefined ? {} : { namespace };
  const held = { provisioning: none as (machine: KubeObject) => boolean, deletions: false };

  const deprovision = async (machine: KubeObject): Promise<void> => {
    if (held.deletions || machine.metadata.finalizers?.includes(metal3Finalizer) !== true) return;
    const result = await lookUpNodeReuse(api, machine, lookup);
    await releaseHost?.(machine);
    await dropFinalizer(api, machine);
    records.push({ machine: machine.metadata.name, ...result });
    await workload.delete({ apiVersion: "v1", kind: "Node", name: machine.metadata.name });
  };
  const reconcile = async (machine: KubeObject): Promise<void> => {
    const { deletionTimestamp, ownerReferences = [], finalizers = [] } = machine.metadata;
    if (deletionTimestamp !== undefined) return deprovision(machine);
    if (isInTheMaking(machine)) return;
    // The change it makes comes back as an event, and the rest is done then.
    if (!finalizers.includes(metal3Finalizer)) return addFinalizer(api, machine);
    const hasMachine = ownerReferences.some(({ kind }) => kind === "Machine");
    const isWaiting = hasMachine && !isProvisioned(machine);
    if (isWaiting && !held.provisioning(machine)) await provision(api, machine, workload);
  };
  const onError = (error: unknown): void => {
    // Someone else wrote in between, or the object went: its next event, or the next list, has the truth.
    if (!(error instanceof ApiError && [404, 409].includes(error.status))) errors.push(error);
  };
  const handled =
    (handle: (object: KubeObject) => Promise<void>) => async (event: { type: string; object: KubeObject }) => {
      if (event.type !== "DELETED") await handle(event.object);
    };
  const machines = follow(
    api,
    { apiVersion: `infrastructure.cluster.x-k8s.io/${metal3}`, kind: "Metal3Machine", ...scope },
    handled(reconcile),
    onError,
  );
  const configs = bootstrapKinds.map((kind) =>
    follow(
      api,
      { ...kind, ...scope },
      handled((config) => bootstrap(api, config)),
      onError,
    ),
  );
  return {
    records,
    errors,
    holdProvisioning(isChosen = () => true) {
      held.provisioning = isChosen;
    },
    holdDeletions() {
      held.deletions = true;
    },
    release() {
      Object.assign(held, { provisioning: none, deletions: false });
      machines.again();
    },
    async stop() {
      await Promise.all([machines, ...configs].map((following) => following.stop()));
    },
  };
}
