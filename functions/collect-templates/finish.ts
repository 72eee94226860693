import type { Act, Context } from "../../shared/acts/context.ts";
import type { Copy } from "../../shared/acts/copies.ts";
import { finishCopy } from "../../shared/acts/finish-copies.ts";
import { gatherFacts } from "../../shared/look/facts.ts";
import { keyOf } from "../../shared/objects/object.ts";
import { CONCERN } from "./terms.ts";

/** Finishes a renewal or a return that was cut short, if this copy is of one. */
export async function finish(context: Context, copy: Copy | undefined): Promise<Act | undefined> {
  if (copy === undefined || copy.concern !== CONCERN) return undefined;
  const back = await finishCopy(context, copy, () => gatherFacts(context.cluster, { about: [keyOf(copy.body)] }));
  return back && { noun: "template", done: "restored", object: keyOf(back), because: "needed" };
}
