import { stringify } from "yaml";
import { run } from "./command.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Crd } from "./crd-files.ts";
import { installCrds } from "./crds.ts";
import type { KubeObject, ObjectRef } from "./objects.ts";
import { openCrd } from "./open-crds.ts";
import { binary } from "./paths.ts";

const applicationVersion = "argoproj.io/v1alpha1";
/** Where Argo CD and its Applications are. */
const argoCdNamespace = "argocd";

/** An Application and the namespace of its objects. */
export interface Application {
  name: string;
  namespace: string;
  /** Sync options of the Application. */
  pruneLast?: boolean;
  serverSide?: boolean;
}

/** An entry of an Application's `.status.resources`. */
export interface ResourceStatus {
  kind: string;
  name: string;
  status: "Synced" | "OutOfSync";
  requiresPruning?: boolean;
}

export interface Comparison {
  sync: "Synced" | "OutOfSync";
  resources: ResourceStatus[];
}

/** What became of a sync. Its phase is Running, and nothing compared, where it stood still for too long. */
export interface Operation {
  phase: "Running" | "Failed" | "Error" | "Succeeded";
  message: string;
  results: { kind: string; name: string; status: string; message: string }[];
  comparison: Comparison | null;
}

/** What the deletion of an Application asked to go, and what was left of that when the time was up, as `Kind/name`. */
export interface Deletion {
  deleted: string[];
  remaining: string[];
}

/** The kind with an open schema; Argo CD's has no status subresource. */
function applicationCrd(): Crd {
  const [group = "", version = ""] = applicationVersion.split("/");
  const crd = openCrd(group, version, "Application");
  const versions = crd.spec.versions.map((one) => ({ ...one, subresources: {} }));
  return { ...crd, spec: { ...crd.spec, versions } };
}

/** Installs Argo CD's kind and namespace; before any function starts, which reads once what is served. */
export async function installArgoCd({ api }: ControlPlane): Promise<void> {
  await installCrds(api, [applicationCrd()]);
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: argoCdNamespace } });
}

export function applicationRef({ name }: Application): ObjectRef {
  return { apiVersion: applicationVersion, kind: "Application", namespace: argoCdNamespace, name };
}

/** Makes the Application object, into whose status each of the following writes. */
export function createApplication({ api }: ControlPlane, application: Application): Promise<KubeObject> {
  const { apiVersion, kind, namespace = "", name } = applicationRef(application);
  const source = { repoURL: "https://example.com/source.git", path: ".", targetRevision: "main" };
  const destination = { server: "https://kubernetes.default.svc", namespace: application.namespace };
  return api.create({ apiVersion, kind, metadata: { name, namespace }, spec: { source, destination } });
}

/** Compares what the source renders with what is live, as a refresh does. */
export function compare(controlPlane: ControlPlane, application: Application, source: readonly KubeObject[]) {
  return engine<Comparison>("compare", controlPlane, application, source, 60);
}

/** A sync with prune to its end, or until it has stood still for so many seconds. */
export function sync(
  controlPlane: ControlPlane,
  application: Application,
  source: readonly KubeObject[],
  { seconds = 60 }: { seconds?: number } = {},
): Promise<Operation> {
  return engine<Operation>("sync", controlPlane, application, source, seconds);
}

/** Deletes an Application's objects, as its deletion with cascade does, until all are gone or the time is up. */
export function deleteObjectsOf(controlPlane: ControlPlane, application: Application, seconds: number) {
  return engine<Deletion>("delete", controlPlane, application, [], seconds);
}

async function engine<T>(
  command: string,
  { kubeconfig }: ControlPlane,
  { name, namespace, pruneLast = false, serverSide = false }: Application,
  source: readonly KubeObject[],
  seconds: number,
): Promise<T> {
  const args = [
    command,
    ...["--kubeconfig", kubeconfig, "--home", argoCdNamespace, "--app", name, "--namespace", namespace],
    ...["--patience", `${seconds}s`, `--prune-last=${pruneLast}`, `--server-side=${serverSide}`],
  ];
  const input = source.map((object) => stringify(object)).join("---\n");
  const { code, stdout, stderr } = await run(binary("argocd-engine"), args, { input });
  if (code !== 0) throw new Error(`argocd-engine ${command} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
