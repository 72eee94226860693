import type { Api } from "../harness/api-types.ts";
import { type KubeObject, refOf } from "../harness/objects.ts";
import { eventually } from "../harness/wait.ts";

/** The project's marks, spelled out here again so that a test notices when one changes. */
export const hold = "capi-caretaker.io/in-use";
export const retiredAt = "capi-caretaker.io/retired-at";
export const neededBy = "capi-caretaker.io/needed-by";
export const renewedAt = "capi-caretaker.io/renewed-at";
export const retiredLabel = "capi-caretaker.io/retired";

export function isHeld(object: KubeObject | undefined): boolean {
  return object?.metadata.finalizers?.includes(hold) === true;
}

/** Waits until each of these objects carries the hold. */
export async function untilHeld(api: Api, ...objects: KubeObject[]): Promise<void> {
  for (const object of objects) {
    await eventually(`${object.metadata.name} to be held`, async () => isHeld(await api.get(refOf(object))));
  }
}

/** Waits until none of these objects exists. Returns how many milliseconds that took. */
export async function untilGone(api: Api, objects: readonly KubeObject[], timeoutMs = 60_000): Promise<number> {
  const started = Date.now();
  for (const object of objects) {
    await eventually(
      `${object.kind} ${object.metadata.name} to be gone`,
      async () => {
        const live = await api.get(refOf(object));
        if (live === undefined) return true;
        throw new Error(`it is still there: ${JSON.stringify(live.metadata)}`);
      },
      { timeoutMs },
    );
  }
  return Date.now() - started;
}
