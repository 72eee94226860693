import { stringify } from "yaml";
import { kubeadmConfigTemplate, machineDeployment } from "../harness/capi-objects.ts";
import { writeChart } from "../harness/helm.ts";
import { metal3DataTemplate, metal3MachineTemplate } from "../harness/metal3-objects.ts";
import type { Fields, KubeObject } from "../harness/objects.ts";

/** What a person sets; a change of any of them changes the names of the templates that hold it. */
export interface ChartValues {
  image: string;
  data: string;
  bootstrap: string;
}

/** Values that give each of the three templates a name of its own. */
export function valuesOf(text: string): ChartValues {
  return { image: text, data: text, bootstrap: text };
}

const helpers = `
{{- define "data-template" -}}
workers-{{ .Values.data | sha256sum | trunc 8 }}
{{- end }}
{{- define "machine-template" -}}
workers-{{ printf "%s %s" .Values.image (include "data-template" .) | sha256sum | trunc 8 }}
{{- end }}
{{- define "config-template" -}}
workers-{{ .Values.bootstrap | sha256sum | trunc 8 }}
{{- end }}
`;

const nodeLabels = [{ name: "node-labels", value: "bootstrap={{ .Values.bootstrap }}" }];
const joining: Fields = { joinConfiguration: { nodeRegistration: { kubeletExtraArgs: nodeLabels } } };

export interface HashedChartOptions {
  version?: string;
  /** 3 by default. */
  replicas?: number;
  /** Whether the templates, and they alone, carry Helm's `keep`; false by default. */
  keep?: boolean;
  /** Further files under templates/. */
  more?: Record<string, string>;
}

/**
 * Writes a chart of Sylva's shape: a machine, a config and a data template, each named by a hash of its content, and the
 * MachineDeployment `workers` that names them. The chart is called after the namespace, which is also the cluster's name.
 */
export function writeHashedChart(namespace: string, options: HashedChartOptions = {}): string {
  const { version = "0.1.0", replicas = 3, keep = false, more = {} } = options;
  const name = (template: string): string => `{{ include "${template}" . }}`;
  const data = metal3DataTemplate(namespace, name("data-template"), namespace, "v1beta1");
  const infrastructure = metal3MachineTemplate({
    namespace,
    name: name("machine-template"),
    version: "v1beta1",
    imageUrl: "http://172.22.0.1/images/{{ .Values.image }}.qcow2",
    dataTemplate: name("data-template"),
  });
  const bootstrap = kubeadmConfigTemplate(namespace, name("config-template"), joining);
  const deployment = machineDeployment({
    namespace,
    name: "workers",
    cluster: namespace,
    infrastructure,
    bootstrap,
    replicas,
  });
  // Labelled as `helm create` does it, so that every version of the chart changes every object.
  const chartLabel = { "helm.sh/chart": "{{ .Chart.Name }}-{{ .Chart.Version }}" };
  const objects = [data, infrastructure, bootstrap, deployment].map((object): KubeObject => {
    const labels = { ...object.metadata.labels, ...chartLabel };
    const isKept = keep && object !== deployment;
    const annotations = isKept ? { annotations: { "helm.sh/resource-policy": "keep" } } : {};
    return { ...object, metadata: { ...object.metadata, labels, ...annotations } };
  });
  const workers = objects.map((one) => stringify(one)).join("---\n");
  const templates = { "_helpers.tpl": helpers, "workers.yaml": workers, ...more };
  return writeChart({ name: namespace, version, templates });
}
