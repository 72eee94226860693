import type { KubeObject } from "../harness/objects.ts";
import { isHeld, retiredAt, retiredLabel } from "./marks.ts";
import { inTime } from "./patience.ts";
import type { Scene } from "./stage.ts";
import { templatesIn, templatesInUse, titleOf } from "./workers.ts";

/** Whether a template is Terminating or marked as one whose owner asked for its deletion. */
export function isRetired({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, annotations = {}, labels = {} } = metadata;
  return deletionTimestamp !== undefined || retiredAt in annotations || retiredLabel in labels;
}

/** The templates of a scene by their titles. Throws when one is missing. */
export async function templatesTitled(scene: Scene, titles: readonly string[]): Promise<KubeObject[]> {
  const templates = await templatesIn(scene);
  return titles.map((title) => {
    const found = templates.find((template) => titleOf(template) === title);
    if (found === undefined) throw new Error(`${title} is not there`);
    return found;
  });
}

/**
 * Waits until exactly the templates that the MachineDeployment names are there, live and held, and nothing else is.
 *
 * @param meanwhile done before each look, such as a sweep
 */
export async function untilOnlyTheUsedAreLeft(scene: Scene, meanwhile: () => Promise<void> = async () => {}) {
  await inTime("exactly the templates in use", async () => {
    await meanwhile();
    const [templates, used] = [await templatesIn(scene), await templatesInUse(scene)];
    const titles = templates.map(titleOf).toSorted();
    if (titles.join() !== used.toSorted().join()) throw new Error(`there are ${titles.join()}`);
    const unsound = templates.filter((template) => isRetired(template) || !isHeld(template));
    if (unsound.length > 0) throw new Error(`retired or not held: ${unsound.map(titleOf).join()}`);
    return true;
  });
}
