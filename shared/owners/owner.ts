import type { KubeObject } from "../object.ts";
import type { RecordTool } from "../settings.ts";

export interface Owner {
  readonly tool: RecordTool;
  readonly kind: "Release" | "HelmRelease" | "Kustomization" | "Application";
  readonly namespace: string | undefined;
  readonly name: string;
}

export function ownerOf(_template: KubeObject): Owner | "none" | "several" {
  return "none";
}
