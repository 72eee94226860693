import type { Api } from "../harness/api-types.ts";
import { clusterNameLabel, controlPlaneVersion, coreVersion, kubeadmConfigTemplate } from "../harness/capi-objects.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { kubeconfigOf } from "../harness/kubeconfig.ts";
import { metal3Cluster, metal3MachineTemplate } from "../harness/metal3-objects.ts";
import { type Fields, type KubeObject, type ObjectRef, refOf, valueAt } from "../harness/objects.ts";
import { eventually } from "../harness/wait.ts";
import { untilRolledOut } from "../harness/workload.ts";
import { metal3Version } from "./caretakers.ts";

/** A cluster that Cluster API's topology controller made from a ClusterClass, with two workers. */
export interface ClassCluster {
  cluster: ObjectRef;
  /** The machine template that the class names. */
  classTemplate: KubeObject;
  /** The MachineDeployment as it was once its machines ran. */
  deployment: KubeObject;
}

const version = "v1.36.0";

function templateRef({ apiVersion, kind, metadata }: KubeObject): Fields {
  return { templateRef: { apiVersion, kind, name: metadata.name } };
}

/** The templates of the smallest class that the topology controller takes. */
function classTemplates(namespace: string, endpoint: { host: string; port: number }, imageUrl: string) {
  const template = (apiVersion: string, kind: string, spec: Fields): KubeObject => {
    return { apiVersion, kind, metadata: { name: "class", namespace }, spec: { template: { spec } } };
  };
  const { spec = {} } = metal3Cluster(namespace, "class", endpoint, "v1beta1");
  return {
    infrastructure: template(metal3Version, "Metal3ClusterTemplate", spec),
    controlPlane: template(controlPlaneVersion, "KubeadmControlPlaneTemplate", {
      kubeadmConfigSpec: { joinConfiguration: { nodeRegistration: { name: "{{ ds.meta_data.name }}" } } },
    }),
    controlPlaneMachine: metal3MachineTemplate({
      namespace,
      name: "class-control-plane",
      version: "v1beta1",
      imageUrl,
    }),
    machine: metal3MachineTemplate({ namespace, name: "class-workers", version: "v1beta1", imageUrl }),
    bootstrap: kubeadmConfigTemplate(namespace, "class-workers"),
  };
}

function clusterClass(namespace: string, made: ReturnType<typeof classTemplates>): KubeObject {
  // Cluster API's webhook would have defaulted the strategy.
  const rollout = { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } };
  return {
    apiVersion: coreVersion,
    kind: "ClusterClass",
    metadata: { name: "class", namespace },
    spec: {
      infrastructure: templateRef(made.infrastructure),
      controlPlane: { ...templateRef(made.controlPlane), machineInfrastructure: templateRef(made.controlPlaneMachine) },
      workers: {
        machineDeployments: [
          {
            class: "workers",
            bootstrap: templateRef(made.bootstrap),
            infrastructure: templateRef(made.machine),
            deletion: { nodeDeletionTimeoutSeconds: 10 },
            rollout,
          },
        ],
      },
    },
  };
}

/** What a control-plane provider and Metal3 would say of a cluster that is up; its control plane has no machines here. */
async function bringUp(api: Api, namespace: string): Promise<void> {
  const [infrastructure, controlPlane] = await eventually(
    "the topology controller to make the cluster's parts",
    async () => {
      const [clusters, planes] = await Promise.all([
        api.list({ apiVersion: metal3Version, kind: "Metal3Cluster", namespace }),
        api.list({ apiVersion: controlPlaneVersion, kind: "KubeadmControlPlane", namespace }),
      ]);
      const [first] = clusters;
      const [second] = planes;
      return first === undefined || second === undefined ? undefined : ([first, second] as const);
    },
  );
  await api.patchStatus(refOf(infrastructure), { ready: true });
  await api.patchStatus(refOf(controlPlane), { version, initialization: { controlPlaneInitialized: true } });
}

/** The Cluster's one MachineDeployment. Throws when there is none. */
export async function deploymentOfClass(api: Api, namespace: string): Promise<KubeObject> {
  const [deployment] = await api.list({ apiVersion: coreVersion, kind: "MachineDeployment", namespace });
  if (deployment === undefined) throw new Error(`no MachineDeployment in ${namespace}`);
  return deployment;
}

/** Makes the namespace, a class and a cluster of it, and waits until two workers run. The core manager and a stand-in must run. */
export async function createClassCluster(
  controlPlane: ControlPlane,
  namespace: string,
  imageUrl: string,
): Promise<ClassCluster> {
  const { api, url, server } = controlPlane;
  const { hostname, port } = new URL(url);
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const made = classTemplates(namespace, { host: hostname, port: Number(port) }, imageUrl);
  for (const template of Object.values(made)) await api.create(template);
  await api.create(clusterClass(namespace, made));
  await api.create({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${namespace}-kubeconfig`, namespace, labels: { [clusterNameLabel]: namespace } },
    type: "cluster.x-k8s.io/secret",
    data: { value: Buffer.from(kubeconfigOf(server)).toString("base64") },
  });
  const workers = { machineDeployments: [{ class: "workers", name: "workers", replicas: 2 }] };
  const created = await api.create({
    apiVersion: coreVersion,
    kind: "Cluster",
    metadata: { name: namespace, namespace },
    spec: { topology: { classRef: { name: "class" }, version, workers } },
  });
  await bringUp(api, namespace);
  const first = await eventually("the MachineDeployment", () =>
    deploymentOfClass(api, namespace).catch(() => undefined),
  );
  const deployment = await untilRolledOut(api, first);
  return { cluster: refOf(created), classTemplate: made.machine, deployment };
}

/** The machine template that the topology controller made for the workers. Throws when there is none. */
export async function ownedTemplate(api: Api, { deployment }: ClassCluster): Promise<KubeObject> {
  const { namespace = "" } = deployment.metadata;
  const live = await deploymentOfClass(api, namespace);
  const name = String(valueAt(live, "spec", "template", "spec", "infrastructureRef", "name"));
  const template = await api.get({ apiVersion: metal3Version, kind: "Metal3MachineTemplate", namespace, name });
  if (template === undefined) throw new Error(`no template ${name}`);
  return template;
}

/** Has the topology controller compare the cluster with its class again, and waits until it has. */
export async function reconcileTopology(api: Api, { cluster, deployment }: ClassCluster): Promise<void> {
  // It copies a change of the topology's metadata to the MachineDeployment, in the same turn as all else.
  const turn = crypto.randomUUID();
  await api.jsonPatch(cluster, [
    {
      op: "add",
      path: "/spec/topology/workers/machineDeployments/0/metadata",
      value: { annotations: { "e2e.capi-caretaker.io/turn": turn } },
    },
  ]);
  await eventually("the topology controller's turn", async () => {
    const live = await deploymentOfClass(api, deployment.metadata.namespace ?? "");
    return live.metadata.annotations?.["e2e.capi-caretaker.io/turn"] === turn;
  });
}
