import { type Handle, NOTHING } from "../../shared/acts/context.ts";
import { lacksManagedFields } from "../../shared/acts/recreate.ts";
import { isTemplateKind } from "../../shared/objects/kinds.ts";
import { keyOf } from "../../shared/objects/object.ts";
import { decide } from "./decide.ts";
import { finishRestore, restore } from "./restore.ts";
import { settle } from "./settle.ts";
import { sweep } from "./sweep.ts";

/** Holds templates when they appear or change, and brings one back that was deleted unheld while needed. */
export const handle: Handle = async (context, change) => {
  if (change.type === "own-reply") return NOTHING;
  if (change.type === "sweep") return sweep(context);
  const { action, object } = change;
  if (!isTemplateKind(keyOf(object))) return NOTHING;
  if (action === "delete") return { acts: acts(await restore(context, object)), counts: {} };
  const finished = lacksManagedFields(object) ? await finishRestore(context, keyOf(object)) : undefined;
  // Where the event shows nothing to do, nothing is read: an event that lags behind is made up for by the sweep.
  const held = decide(object).verdict === "leave" ? undefined : await settle(context, keyOf(object));
  return { acts: acts(finished, held), counts: {} };
};

function acts<Act>(...made: readonly (Act | undefined)[]): readonly Act[] {
  return made.filter((act) => act !== undefined);
}
