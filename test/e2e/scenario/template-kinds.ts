import {
  bootstrapVersion,
  controlPlaneVersion,
  coreVersion,
  kubeadmConfigTemplate,
  ownedBy,
} from "../harness/capi-objects.ts";
import { metal3DataTemplate, metal3MachineTemplate } from "../harness/metal3-objects.ts";
import type { Fields, KubeObject, Metadata } from "../harness/objects.ts";
import { metal3Version } from "./caretakers.ts";

/** The server whose URLs the templates hold. */
export const oldServer = "http://10.10.10.17/";

const [version, cluster] = ["v1beta1", "mgmt"] as const;

function template(apiVersion: string, kind: string, namespace: string, spec: Fields): KubeObject {
  return { apiVersion, kind, metadata: { name: "t", namespace }, spec: { template: { spec } } };
}

/** One template of every kind that core, kubeadm and Metal3 have, each with a URL of the old server wherever its schema takes a string. */
export function oneOfEachKind(namespace: string, metadata: Partial<Metadata> = {}): readonly KubeObject[] {
  const url = `${oldServer}node.qcow2`;
  const data = metal3DataTemplate(namespace, "t", cluster, version);
  const all = [
    metal3MachineTemplate({ namespace, name: "t", version, imageUrl: url }),
    { ...data, spec: { ...data.spec, metaData: { strings: [{ key: "mirror", value: url }] } } },
    template(metal3Version, "Metal3ClusterTemplate", namespace, {
      controlPlaneEndpoint: { host: "10.10.10.17", port: 6443 },
    }),
    // Metal3's webhook takes no other strategy than Reboot; the schema does.
    template(metal3Version, "Metal3RemediationTemplate", namespace, { strategy: { type: url } }),
    kubeadmConfigTemplate(namespace, "t", {
      joinConfiguration: { nodeRegistration: { kubeletExtraArgs: [{ name: "mirror", value: url }] } },
    }),
    template(controlPlaneVersion, "KubeadmControlPlaneTemplate", namespace, {
      kubeadmConfigSpec: { preKubeadmCommands: [`curl ${url}`] },
    }),
  ];
  return all.map((one) => ({ ...one, metadata: { ...one.metadata, ...metadata } }));
}

/** A ClusterClass that wants each of them, and the machine template that wants the data template. */
export function wantingEachKind(namespace: string): { clusterClass: KubeObject; user: KubeObject } {
  const ref = (apiVersion: string, kind: string): Fields => ({ templateRef: { apiVersion, kind, name: "t" } });
  const machine = ref(metal3Version, "Metal3MachineTemplate");
  const bootstrap = ref(bootstrapVersion, "KubeadmConfigTemplate");
  const clusterClass = {
    apiVersion: coreVersion,
    kind: "ClusterClass",
    metadata: { name: "class", namespace },
    spec: {
      infrastructure: ref(metal3Version, "Metal3ClusterTemplate"),
      controlPlane: {
        ...ref(controlPlaneVersion, "KubeadmControlPlaneTemplate"),
        machineInfrastructure: machine,
        healthCheck: { remediation: ref(metal3Version, "Metal3RemediationTemplate") },
      },
      workers: { machineDeployments: [{ class: "workers", bootstrap, infrastructure: machine }] },
    },
  };
  return { clusterClass, user: metal3MachineTemplate({ namespace, name: "user", version, dataTemplate: "t" }) };
}

/** Owner references of a template that a Cluster and its class share. */
export function owners(...living: readonly KubeObject[]): Pick<Metadata, "ownerReferences"> {
  return { ownerReferences: living.map((one) => ownedBy(one)) };
}
