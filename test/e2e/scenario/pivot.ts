import { stringify } from "yaml";
import type { Api } from "../harness/api-types.ts";
import { startCapi } from "../harness/capi.ts";
import { controlPlaneVersion, coreVersion, kubeadmConfigTemplate, machineDeployment } from "../harness/capi-objects.ts";
import { clusterctl } from "../harness/clusterctl.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { helm, writeChart } from "../harness/helm.ts";
import { startManagementCluster } from "../harness/management-cluster.ts";
import { metal3MachineTemplate } from "../harness/metal3-objects.ts";
import { type KubeObject, type ObjectRef, valueAt } from "../harness/objects.ts";
import { type StandIn, startStandIn } from "../harness/stand-in.ts";
import { untilRolledOut } from "../harness/workload.ts";
import { metal3Version } from "./caretakers.ts";
import { hostKind } from "./host-claims.ts";
import { awaitsHost, bareMetalHost, type Hosts, startHosts } from "./hosts.ts";
import { type ImageServer, startImageServer } from "./image-server.ts";
import {
  createKubeadmCluster,
  kubeadmControlPlane,
  startKubelets,
  untilControlPlaneRuns,
} from "./kubeadm-control-plane.ts";
import { inTime } from "./patience.ts";

export const templateNames = ["control-plane", "workers"] as const;
const name = "mgmt";

/** A bootstrap or a management cluster with Cluster API, hosts that fetch images, and an image server. */
export interface Side {
  controlPlane: ControlPlane;
  standIn: StandIn;
  hosts: Hosts;
  images: ImageServer;
  /** Ends all of it, as when the machine it runs on is switched off. */
  switchOff(): Promise<void>;
}

/** Starts a side. The management cluster is also what its own machines make up, so the Nodes of both sides are there. */
export async function startSide(sideName: string, management?: Side): Promise<Side> {
  const controlPlane = await startManagementCluster({ name: sideName });
  const { api } = controlPlane;
  const workload = management?.controlPlane.api ?? api;
  const managers = [
    await startCapi("capi-core", controlPlane),
    await startCapi("capi-kubeadm-control-plane", controlPlane),
  ];
  const hosts = startHosts(api, metal3Version);
  const standIn = startStandIn(api, { workload, releaseHost: hosts.release });
  standIn.holdProvisioning(awaitsHost);
  await startKubelets(api, workload);
  const images = await startImageServer();
  const switchOff = async (): Promise<void> => {
    await Promise.all(managers.map((manager) => manager.stop()));
    await Promise.all([controlPlane.stop(), images.stop()]);
  };
  return { controlPlane, standIn, hosts, images, switchOff };
}

/** A chart of the cluster's hosts, templates, control plane (one machine) and workers (two), and hosts to spare. */
function writeClusterChart(namespace: string): string {
  const imageUrl = "{{ .Values.server }}/images/node.qcow2";
  const [plane, workers] = templateNames.map((one) =>
    metal3MachineTemplate({ namespace, name: one, version: "v1beta1", imageUrl }),
  ) as [KubeObject, KubeObject];
  const config = kubeadmConfigTemplate(namespace, "workers", { preKubeadmCommands: ["echo one"] });
  const options = { namespace, name: "workers", cluster: name, replicas: 2, bootstrap: config };
  const objects = [
    ...Array.from({ length: 5 }, (_, index) => bareMetalHost(namespace, `host-${index}`)),
    plane,
    workers,
    config,
    kubeadmControlPlane({ namespace, name, infrastructure: plane }),
    machineDeployment({ ...options, infrastructure: workers }),
  ];
  const text = objects.map((one) => stringify(one)).join("---\n");
  return writeChart({ name: namespace, templates: { "cluster.yaml": text } });
}

export function controlPlaneRef(namespace: string): ObjectRef {
  return { apiVersion: controlPlaneVersion, kind: "KubeadmControlPlane", namespace, name };
}

/** The cluster's MachineDeployment. Throws when there is none. */
export async function workersIn(api: Api, namespace: string): Promise<KubeObject> {
  const live = await api.get({ apiVersion: coreVersion, kind: "MachineDeployment", namespace, name: "workers" });
  if (live === undefined) throw new Error(`no MachineDeployment in ${namespace}`);
  return live;
}

async function untilAllRun(api: Api, namespace: string): Promise<void> {
  await untilControlPlaneRuns(api, controlPlaneRef(namespace));
  await untilRolledOut(api, await workersIn(api, namespace), 240_000);
}

/** Has Helm install the later management cluster on the bootstrap cluster, and waits until it runs. */
export async function installCluster(bootstrap: Side, management: Side, namespace: string): Promise<void> {
  const { controlPlane, images } = bootstrap;
  await createKubeadmCluster(controlPlane.api, management.controlPlane, { namespace, name });
  const chart = writeClusterChart(namespace);
  const args = ["install", name, chart, "--set", `server=${images.url}`, "-n", namespace];
  const { code, stderr } = await helm(4, controlPlane, args);
  if (code !== 0) throw new Error(`helm install ended with ${code}: ${stderr}`);
  await untilAllRun(controlPlane.api, namespace);
}

function hostInBrief(host: KubeObject): string {
  const of = (...path: string[]) => String(valueAt(host, ...path));
  const wanted = `${of("spec", "image", "url")} for ${of("spec", "consumerRef", "name")}`;
  return `${host.metadata.name} ${of("status", "provisioning", "state")}, wants ${wanted}`;
}

/** Moves a namespace with the real clusterctl, and waits until everything runs at the target as it did before. */
export async function moveCluster(bootstrap: Side, management: Side, namespace: string): Promise<void> {
  const { api, kubeconfig } = management.controlPlane;
  // Metal3 releases no host of a paused cluster, though clusterctl deletes its machines here.
  bootstrap.standIn.holdDeletions();
  const to = ["--to-kubeconfig", kubeconfig, "--namespace", namespace];
  const { code, stderr } = await clusterctl(["move", "--kubeconfig", bootstrap.controlPlane.kubeconfig, ...to]);
  if (code !== 0) throw new Error(`clusterctl move ended with ${code}: ${stderr}`);
  await api.patchStatus({ apiVersion: metal3Version, kind: "Metal3Cluster", namespace, name }, { ready: true });
  await untilAllRun(api, namespace);
  await inTime("three hosts to have their status back", async () => {
    const hosts = await api.list({ ...hostKind, namespace });
    const states = hosts.map((host) => valueAt(host, "status", "provisioning", "state"));
    if (states.filter((state) => state === "provisioned").length === 3) return true;
    throw new Error(`${hosts.map(hostInBrief).join("; ")}; errors: ${management.hosts.errors.map(String).join("; ")}`);
  });
}

/** What of a moved cluster a rewrite may or may not change. */
export interface Inventory {
  hosts: KubeObject[];
  /** The uids of the machines. */
  machines: string[];
  /** The specs of what makes machines. */
  makers: unknown[];
  templates: KubeObject[];
}

export async function inventoryOf({ controlPlane: { api } }: Side, namespace: string): Promise<Inventory> {
  const of = (apiVersion: string, kind: string) => api.list({ apiVersion, kind, namespace });
  const makers = [
    ...(await of(controlPlaneVersion, "KubeadmControlPlane")),
    ...(await of(coreVersion, "MachineDeployment")),
    ...(await of(coreVersion, "MachineSet")),
  ];
  const templates = await of(metal3Version, "Metal3MachineTemplate");
  return {
    hosts: await api.list({ ...hostKind, namespace }),
    machines: (await of(coreVersion, "Machine")).map(({ metadata }) => metadata.uid ?? "").toSorted(),
    makers: makers.map(({ spec }) => spec),
    templates: templates.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name)),
  };
}
