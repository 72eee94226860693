import { createHash } from "node:crypto";
import { kubeadmConfigTemplate, machineDeployment } from "../harness/capi-objects.ts";
import { metal3DataTemplate, metal3MachineTemplate } from "../harness/metal3-objects.ts";
import type { KubeObject } from "../harness/objects.ts";

export interface SourceOptions {
  /** 1 by default: everything in one. With 2 the templates are in the first and the MachineDeployment in the second. */
  waves?: 1 | 2;
  /** 2 by default. */
  replicas?: number;
  /** Set on every template. */
  annotations?: Record<string, string>;
}

/** What a source renders for a text: three templates named by a hash of it, and the MachineDeployment that names them. */
export interface Source {
  objects: KubeObject[];
  templates: KubeObject[];
  data: KubeObject;
  deployment: KubeObject;
}

/** Renders the source of a scene, whose cluster is called like its namespace. */
export function rendered(namespace: string, text: string, options: SourceOptions = {}): Source {
  const { waves = 1, replicas = 2, annotations = {} } = options;
  const name = `workers-${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;
  const data = annotated(metal3DataTemplate(namespace, name, namespace, "v1beta1"), annotations);
  const infrastructure = annotated(
    metal3MachineTemplate({ namespace, name, version: "v1beta1", dataTemplate: name }),
    annotations,
  );
  const bootstrap = annotated(kubeadmConfigTemplate(namespace, name), annotations);
  const workers = machineDeployment({
    namespace,
    name: "workers",
    cluster: namespace,
    infrastructure,
    bootstrap,
    replicas,
  });
  const deployment = waves === 2 ? annotated(workers, { "argocd.argoproj.io/sync-wave": "1" }) : workers;
  const templates = [data, infrastructure, bootstrap];
  return { objects: [...templates, deployment], templates, data, deployment };
}

function annotated(object: KubeObject, annotations: Record<string, string>): KubeObject {
  if (Object.keys(annotations).length === 0) return object;
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
}
