import {
  type Application,
  type Comparison,
  compare,
  createApplication,
  type Operation,
  type ResourceStatus,
  sync,
} from "../harness/argocd.ts";
import type { ControlPlane } from "../harness/control-plane.ts";
import { type KubeObject, refOf } from "../harness/objects.ts";
import { rendered, type Source, type SourceOptions } from "./argocd-source.ts";
import { isHeld } from "./marks.ts";
import { inTime } from "./patience.ts";
import { untilSettled } from "./rollout.ts";
import { openScene, type Scene } from "./stage.ts";
import { titleOf } from "./workers.ts";

export const syncOptions = "argocd.argoproj.io/sync-options";
export const compareOptions = "argocd.argoproj.io/compare-options";
export const ourOptions = "capi-caretaker.io/argocd-options";

/** A scene whose machines an Application deployed, and what its source first rendered. */
export interface Deployed extends Scene {
  application: Application;
  options: SourceOptions;
  old: Source;
}

/** Makes an Application, syncs what its source renders for "one" and waits until the machines run. */
export async function deployed(
  controlPlane: ControlPlane,
  namespace: string,
  options: SourceOptions & Pick<Application, "pruneLast" | "serverSide"> = {},
): Promise<Deployed> {
  const scene = await openScene(controlPlane, namespace);
  const { pruneLast = false, serverSide = false } = options;
  const application: Application = { name: namespace, namespace, pruneLast, serverSide };
  await createApplication(controlPlane, application);
  const at = { ...scene, application, options, old: rendered(namespace, "one", options) };
  await syncedTo(at, "one");
  await untilSettled(scene);
  return at;
}

/** A sync with prune of what the source renders for a text, however it ends. */
export function syncTo(at: Deployed, text: string, seconds = 60): Promise<Operation> {
  return sync(at.controlPlane, at.application, rendered(at.namespace, text, at.options).objects, { seconds });
}

/** The same, and what was compared after it. Throws when the sync does not succeed. */
export async function syncedTo(at: Deployed, text: string): Promise<Comparison> {
  const { phase, message, results, comparison } = await syncTo(at, text);
  if (phase === "Succeeded" && comparison !== null) return comparison;
  throw new Error(`the sync is ${phase}: ${message}; ${JSON.stringify(results)}`);
}

/** Compares what the source renders for a text with what is live. */
export function comparedWith(at: Deployed, text: string): Promise<Comparison> {
  return compare(at.controlPlane, at.application, rendered(at.namespace, text, at.options).objects);
}

/** What an Application's status says of an object; undefined where it is not in there. */
export function statusOf({ resources }: Comparison, object: KubeObject): ResourceStatus | undefined {
  return resources.find(({ kind, name }) => kind === object.kind && name === object.metadata.name);
}

/** The live object. Throws when it is gone. */
export async function liveOf({ controlPlane }: Scene, object: KubeObject): Promise<KubeObject> {
  const live = await controlPlane.api.get(refOf(object));
  if (live === undefined) throw new Error(`${titleOf(object)} is gone`);
  return live;
}

/** Those of these objects that are there, by their titles. */
export async function standing({ controlPlane }: Scene, objects: readonly KubeObject[]): Promise<string[]> {
  const found = await Promise.all(objects.map((object) => controlPlane.api.get(refOf(object))));
  return found.flatMap((object) => (object === undefined ? [] : [titleOf(object)]));
}

/** Waits until each of these templates has the options against pruning and no hold. */
export async function untilNotPruned(scene: Scene, templates: readonly KubeObject[]): Promise<void> {
  for (const template of templates) {
    await inTime(`${titleOf(template)} to be kept from pruning`, async () => {
      const live = await liveOf(scene, template);
      const { annotations = {} } = live.metadata;
      const isKept = annotations[syncOptions] === "Prune=false" && annotations[compareOptions] === "IgnoreExtraneous";
      if (isKept && !isHeld(live)) return true;
      throw new Error(JSON.stringify(live.metadata));
    });
  }
}
