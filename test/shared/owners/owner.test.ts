import { expect, test } from "vitest";
import type { KubeObject } from "../../../shared/objects/object.ts";
import { ownerOf } from "../../../shared/owners/owner.ts";
import { annotated, HOME, labelled, metal3MachineTemplate } from "../../build/objects.ts";

const t = metal3MachineTemplate("t");
const managed = { "app.kubernetes.io/managed-by": "Helm" };
const release = { "meta.helm.sh/release-name": "workers", "meta.helm.sh/release-namespace": "team-a" };
const fluxHelm = { "helm.toolkit.fluxcd.io/name": "workers", "helm.toolkit.fluxcd.io/namespace": "flux" };
const fluxKustomize = { "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux" };
const tracking = (of: string) => ({
  "argocd.argoproj.io/tracking-id": `${of}:infrastructure.cluster.x-k8s.io/Metal3MachineTemplate:${HOME}/t`,
});
const byHelm = labelled(annotated(t, release), managed);

test.each<[situation: string, outcome: string, template: KubeObject]>([
  ["nobody's marks", "none", t],
  ["Helm's marks", "Release team-a/workers", byHelm],
  ["Helm's annotations without its label", "none", annotated(t, release)],
  ["Helm's label without its annotations", "none", labelled(t, managed)],
  ["Helm's release name alone", "none", labelled(annotated(t, { "meta.helm.sh/release-name": "workers" }), managed)],
  [
    "a HelmRelease's, which carry Helm's too",
    "HelmRelease flux/workers",
    labelled(byHelm, { ...managed, ...fluxHelm }),
  ],
  ["a Kustomization's", "Kustomization flux/apps", labelled(t, fluxKustomize)],
  ["a Kustomization's name alone", "none", labelled(t, { "kustomize.toolkit.fluxcd.io/name": "apps" })],
  ["Argo CD's", "Application undefined/shop", annotated(t, tracking("shop"))],
  ["Argo CD's, with the namespace", "Application team-b/shop", annotated(t, tracking("team-b_shop"))],
  ["Argo CD's, copied from another object", "none", annotated(metal3MachineTemplate("u"), tracking("shop"))],
  ["a HelmRelease's and a Kustomization's", "several", labelled(t, { ...fluxHelm, ...fluxKustomize })],
  ["Helm's and Argo CD's", "several", annotated(byHelm, { ...release, ...tracking("shop") })],
])("%s -> %s", (_, outcome, template) => {
  const owner = ownerOf(template);
  expect(typeof owner === "string" ? owner : `${owner.kind} ${owner.namespace}/${owner.name}`).toBe(outcome);
});
