import { annotation, label } from "../marks/marks.ts";
import type { KubeObject } from "../objects/object.ts";
import type { RecordTool } from "../setup/settings.ts";
import { trackedBy } from "./argocd.ts";

/** Who deploys a template and keeps a record of what it deploys. */
export interface Owner {
  readonly tool: RecordTool;
  readonly kind: "Release" | "HelmRelease" | "Kustomization" | "Application";
  /** Undefined for an Application in the namespace of Argo CD itself, which a tracking id does not tell. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** The one owner of a template, by the marks that each tool leaves on what it deploys. */
export function ownerOf(template: KubeObject): Owner | "none" | "several" {
  const owners = [helmOwner(template), kustomization(template), application(template)].filter(
    (one) => one !== undefined,
  );
  const [owner = "none", ...others] = owners;
  return others.length > 0 ? "several" : owner;
}

/**
 * The Flux HelmRelease where there is one: helm-controller installs a Helm release, so what it deploys carries that one's
 * marks too (helm-controller internal/postrender/origin_labels.go). Else the Helm release, by all that Helm asks for before
 * it adopts an object (helm pkg/action/validate.go, checkOwnership).
 */
function helmOwner(template: KubeObject): Owner | undefined {
  const name = label(template, "helm.toolkit.fluxcd.io/name");
  const namespace = label(template, "helm.toolkit.fluxcd.io/namespace");
  if (name && namespace) return { tool: "flux", kind: "HelmRelease", namespace, name };
  const release = annotation(template, "meta.helm.sh/release-name");
  const home = annotation(template, "meta.helm.sh/release-namespace");
  if (!release || !home || label(template, "app.kubernetes.io/managed-by") !== "Helm") return undefined;
  return { tool: "helm", kind: "Release", namespace: home, name: release };
}

/** By the labels that kustomize-controller sets (fluxcd/pkg ssa, SetOwnerLabels). */
function kustomization(template: KubeObject): Owner | undefined {
  const name = label(template, "kustomize.toolkit.fluxcd.io/name");
  const namespace = label(template, "kustomize.toolkit.fluxcd.io/namespace");
  return name && namespace ? { tool: "flux", kind: "Kustomization", namespace, name } : undefined;
}

function application(template: KubeObject): Owner | undefined {
  const tracked = trackedBy(template);
  return tracked && { tool: "argocd", kind: "Application", ...tracked };
}
