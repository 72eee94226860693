import type { BetaVersion } from "./crds.ts";
import { type Fields, type KubeObject, valueAt } from "./objects.ts";

const infrastructure = (version: BetaVersion): string => `infrastructure.cluster.x-k8s.io/${version}`;

/** A Metal3Cluster with a control-plane endpoint. */
export function metal3Cluster(
  namespace: string,
  name: string,
  endpoint: { host: string; port: number },
  version: BetaVersion,
): KubeObject {
  return {
    apiVersion: infrastructure(version),
    kind: "Metal3Cluster",
    metadata: { name, namespace },
    spec: { controlPlaneEndpoint: endpoint, cloudProviderEnabled: false },
  };
}

export interface Metal3MachineTemplateOptions {
  namespace: string;
  name: string;
  version: BetaVersion;
  /** True by default. */
  nodeReuse?: boolean;
  imageUrl?: string;
  /** Name of a Metal3DataTemplate in the same namespace. */
  dataTemplate?: string;
}

/** A Metal3MachineTemplate. */
export function metal3MachineTemplate(options: Metal3MachineTemplateOptions): KubeObject {
  const { namespace, name, version, nodeReuse = true, dataTemplate } = options;
  const { imageUrl = "http://172.22.0.1/images/node.qcow2" } = options;
  const image: Fields = { url: imageUrl, checksum: "0".repeat(64), checksumType: "sha256" };
  return {
    apiVersion: infrastructure(version),
    kind: "Metal3MachineTemplate",
    metadata: { name, namespace },
    spec: {
      nodeReuse,
      template: {
        spec: {
          image: { ...image, [version === "v1beta1" ? "format" : "diskFormat"]: "qcow2" },
          ...(dataTemplate === undefined ? {} : { dataTemplate: { name: dataTemplate } }),
        },
      },
    },
  };
}

/** A Metal3DataTemplate of a cluster. */
export function metal3DataTemplate(namespace: string, name: string, cluster: string, version: BetaVersion): KubeObject {
  return {
    apiVersion: infrastructure(version),
    kind: "Metal3DataTemplate",
    metadata: { name, namespace },
    spec: { clusterName: cluster, metaData: { strings: [{ key: "example", value: name }] } },
  };
}

/** A Metal3Machine that no template made, as the first machine of a cluster. */
export function metal3Machine(namespace: string, name: string, version: BetaVersion): KubeObject {
  const spec = valueAt(metal3MachineTemplate({ namespace, name, version }), "spec", "template", "spec") as Fields;
  return { apiVersion: infrastructure(version), kind: "Metal3Machine", metadata: { name, namespace }, spec };
}
