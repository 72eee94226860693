import { type Act, type Context, type Handle, NOTHING, type Outcome } from "../../shared/acts/context.ts";
import { createTally } from "../../shared/acts/tally.ts";
import { keyText, type ObjectKey } from "../../shared/objects/object.ts";
import { concernedBy, isClusterKind } from "./events.ts";
import { controlPlaneKeyOf } from "./prepare/draft.ts";
import { settlePreparation } from "./prepare/settle.ts";
import { settle } from "./settle.ts";
import { markedObjects } from "./survey/survey.ts";

/** Brings the adoption that a change bears on as far as it goes; a sweep does so for every marked object. */
export const handle: Handle = async (context, change) => {
  if (change.type === "own-reply") return NOTHING;
  if (change.type === "sweep") return sweep(context);
  const key = await concernedBy(context.cluster, change.object);
  return key === undefined ? NOTHING : { acts: await advance(context, key, false), counts: {} };
};

async function sweep(context: Context): Promise<Outcome> {
  const tally = createTally(context.log);
  for (const key of await markedObjects(context.cluster)) {
    tally.count("marked");
    const acts = await tally.try(keyText(key), () => advance(context, key, true));
    for (const act of acts ?? []) tally.done(act);
  }
  return tally.outcome();
}

async function advance(context: Context, key: ObjectKey, isSweep: boolean): Promise<readonly Act[]> {
  if (!isClusterKind(key)) return settle(context, key, isSweep);
  const prepared = await settlePreparation(context, key, isSweep);
  if (prepared.length === 0) return prepared;
  return [...prepared, ...(await settle(context, controlPlaneKeyOf(key), isSweep))];
}
