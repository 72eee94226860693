import type { KubeObject } from "../../shared/objects/object.ts";
import { object } from "./objects.ts";

/** A control-plane template, of a kind nobody listed, that names other templates by kind and name. */
export function linkTemplate(name: string, next: readonly string[] = []): KubeObject {
  const links = next.map((to) => ({ apiVersion: "controlplane.cluster.x-k8s.io/v1", kind: "LinkTemplate", name: to }));
  return object("LinkTemplate.controlplane.cluster.x-k8s.io/v1", name, { spec: { links } });
}
