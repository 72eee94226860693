import type { CloudEvent } from "../harness/cloud-event.ts";
import { type KubeObject, pluralOf } from "../harness/objects.ts";

/** The event that Knative's ApiServerSource adapter sends about an object in Resource mode. */
export function resourceEvent(action: "add" | "update" | "delete", object: KubeObject): CloudEvent {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace = "" } = metadata;
  return {
    attributes: {
      type: `dev.knative.apiserver.resource.${action}`,
      source: "https://10.0.0.1:443",
      subject: `/apis/${apiVersion}/namespaces/${namespace}/${pluralOf(kind)}/${name}`,
      apiversion: apiVersion,
      kind,
      name,
      namespace,
    },
    data: object,
  };
}
