import { stringify } from "yaml";
import type { Outcome } from "../harness/command.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { helm, writeChart } from "../harness/helm.ts";
import { metal3MachineTemplate } from "../harness/metal3-objects.ts";
import type { KubeObject, ObjectRef } from "../harness/objects.ts";
import type { HelmMajor } from "./release.ts";

/** A release of a chart with one Metal3MachineTemplate, `workers`, in a namespace of its own. */
export interface ImageRelease {
  template: ObjectRef;
  /** `helm upgrade` with a version of the chart and an image URL; an exit code other than 0 is given back. */
  upgrade(version: string, url: string, ...flags: string[]): Promise<Outcome>;
  live(): Promise<KubeObject | undefined>;
}

// Charts put their version into a label, so that every version of the chart changes every object.
function chartOf(namespace: string, version: string): string {
  const options = { namespace, name: "workers", version: "v1beta2", imageUrl: "{{ .Values.url }}" } as const;
  const template = metal3MachineTemplate(options);
  const labels = { "helm.sh/chart": "{{ .Chart.Name }}-{{ .Chart.Version }}" };
  const text = stringify({ ...template, metadata: { ...template.metadata, labels } });
  return writeChart({ name: `${namespace}-${version}`, version, templates: { "workers.yaml": text } });
}

/** Makes the namespace and installs the first version of the chart. Throws when Helm does not succeed. */
export async function installImage(
  controlPlane: ControlPlane,
  major: HelmMajor,
  namespace: string,
  url: string,
): Promise<ImageRelease> {
  const { api } = controlPlane;
  await api.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const run = (verb: string, version: string, image: string, flags: readonly string[] = []): Promise<Outcome> => {
    const chart = chartOf(namespace, version);
    return helm(major, controlPlane, [verb, "workers", chart, "--set", `url=${image}`, "-n", namespace, ...flags]);
  };
  const { code, stderr } = await run("install", "0.1.0", url);
  if (code !== 0) throw new Error(`helm ${major} install ended with ${code}: ${stderr}`);
  const apiVersion = "infrastructure.cluster.x-k8s.io/v1beta2";
  const template = { apiVersion, kind: "Metal3MachineTemplate", namespace, name: "workers" };
  return {
    template,
    upgrade: (version, image, ...flags) => run("upgrade", version, image, flags),
    live: () => api.get(template),
  };
}
