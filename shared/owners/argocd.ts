import { annotation } from "../marks/marks.ts";
import { type KubeObject, keyOf } from "../objects/object.ts";

const TRACKING_ID = "argocd.argoproj.io/tracking-id";

/** An Application of Argo CD, as a tracking id names it. */
export interface TrackingApplication {
  /** Undefined where it is the namespace of Argo CD itself, which an id does not tell. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/**
 * The Application that Argo CD tracks this object for, by the annotation `<app>:<group>/<kind>:<namespace>/<name>`, where
 * the app may be `<namespace>_<app>` (argo-cd util/argo/resource_tracking.go, ParseAppInstanceValue; an Application's
 * InstanceName). Undefined where there is none, or where the id names another object: Argo CD takes that for a copy.
 *
 * Of what it tracks, Argo CD prunes, deletes with the Application and shows as `requiresPruning` only what has no
 * ownerReferences (gitops-engine pkg/cache/cluster.go, GetManagedLiveObjs). A template that Cluster API made its Cluster own
 * just leaves `.status.resources` when its source drops it.
 */
export function trackedBy(object: KubeObject): TrackingApplication | undefined {
  const [instance = "", ...rest] = (annotation(object, TRACKING_ID) ?? "").split(":");
  const { group, kind, namespace, name } = keyOf(object);
  if (instance === "" || rest.join(":") !== `${group}/${kind}:${namespace}/${name}`) return undefined;
  // Neither namespaces nor names may hold an underscore.
  const [home = "", app, ...more] = instance.split("_");
  if (app === undefined) return { namespace: undefined, name: home };
  return home === "" || app === "" || more.length > 0 ? undefined : { namespace: home, name: app };
}
