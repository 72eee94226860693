import type { Act, Handle, Outcome } from "../../shared/context.ts";
import { NOTHING } from "../../shared/context.ts";
import { isTemplateKind } from "../../shared/kinds.ts";
import { keyOf } from "../../shared/object.ts";
import { lacksManagedFields } from "../../shared/recreate.ts";
import { decide } from "./decide.ts";
import { hold } from "./hold.ts";
import { finishRestore, finishRestores, restore } from "./restore.ts";
import { sweep } from "./sweep.ts";

/** Holds templates when they appear or change, and brings one back that was deleted unheld while needed. */
export const handle: Handle = async (context, change) => {
  if (change.type === "own-reply") return NOTHING;
  if (change.type === "sweep") return combined(await finishRestores(context), await sweep(context));
  const { action, object } = change;
  if (!isTemplateKind(keyOf(object))) return NOTHING;
  if (action === "delete") return outcomeOf(await restore(context, object));
  const unfinished = lacksManagedFields(object) ? await finishRestore(context, keyOf(object)) : undefined;
  // Where the event shows nothing to do, nothing is read: an event that lags behind is made up for by the sweep.
  const held = decide(object).verdict === "leave" ? undefined : await hold(context, keyOf(object));
  return outcomeOf(unfinished, held);
};

function outcomeOf(...acts: readonly (Act | undefined)[]): Outcome {
  return { acts: acts.filter((act) => act !== undefined), counts: {} };
}

function combined(acts: readonly Act[], outcome: Outcome): Outcome {
  return { acts: [...acts, ...outcome.acts], counts: { ...outcome.counts, finished: acts.length } };
}
