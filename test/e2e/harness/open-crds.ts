import type { Crd } from "./crd-files.ts";
import { pluralOf } from "./objects.ts";

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** A namespaced CustomResourceDefinition with a status subresource whose status, and by default spec, takes anything. */
export function openCrd(group: string, version: string, kind: string, spec: object = open): Crd {
  const plural = pluralOf(kind);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: "Namespaced",
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec, status: open } } },
          subresources: { status: {} },
        },
      ],
    },
  };
}

const infrastructure = "infrastructure.cluster.x-k8s.io";
const bootstrap = "bootstrap.cluster.x-k8s.io";
const controlPlane = "controlplane.cluster.x-k8s.io";

/** A spec that takes anything but in the one field that `path` leads to. */
function openBut(path: readonly string[], field: object): object {
  return path.reduceRight<object>((inner, step) => ({ ...open, properties: { [step]: inner } }), field);
}

/** The limit of the real schema that a test relies on (cluster-api-provider-metal3 v1.13). */
const shortUrl = openBut(["template", "spec", "image", "url"], { type: "string", maxLength: 512 });

/** Metal3's kinds, for a machine without the real schemas. */
export function openMetal3Crds(version: "v1beta1" | "v1beta2"): Crd[] {
  const cloned = ["Metal3Cluster", "Metal3Machine", "Metal3Data", "Metal3Remediation"];
  const kinds = [...cloned, ...cloned.map((kind) => `${kind}Template`), "Metal3DataClaim"];
  return kinds.map((kind) => {
    return openCrd(infrastructure, version, kind, kind === "Metal3MachineTemplate" ? shortUrl : open);
  });
}

/** RKE2's bootstrap and control-plane kinds, likewise. */
export function openRke2Crds(version: "v1beta1" | "v1beta2"): Crd[] {
  return [
    ...["RKE2Config", "RKE2ConfigTemplate"].map((kind) => openCrd(bootstrap, version, kind)),
    ...["RKE2ControlPlane", "RKE2ControlPlaneTemplate"].map((kind) => openCrd(controlPlane, version, kind)),
  ];
}

/** Metal3's hosts and its own address management, likewise. */
export function openMetalCrds(): Crd[] {
  return [
    openCrd("metal3.io", "v1alpha1", "BareMetalHost"),
    ...["IPPool", "IPClaim", "IPAddress"].map((kind) => openCrd("ipam.metal3.io", "v1alpha1", kind)),
  ];
}
