import type { Act, Context } from "../../shared/context.ts";
import { HOLD, RETIRED_AT, RETIRED_LABEL, retiredSince, timestamp } from "../../shared/marks.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../../shared/object.ts";
import { onObject } from "../../shared/retry.ts";
import { tell } from "../../shared/tell.ts";
import { decide } from "./decide.ts";

/**
 * Does what a template needs, if it is still there: the hold, or the record of a deletion asked for.
 *
 * @param seen the template as a list just showed it, to spare a read while nobody else writes it
 */
export async function hold(context: Context, key: ObjectKey, seen?: KubeObject): Promise<Act | undefined> {
  return onObject(context.cluster, key, (template) => carryOut(context, template), seen);
}

async function carryOut(context: Context, template: KubeObject): Promise<Act | undefined> {
  const { cluster, now } = context;
  const decision = decide(template);
  const act = (done: string): Act => ({ noun: "template", done, object: keyOf(template), because: decision.because });
  switch (decision.verdict) {
    case "leave":
      return undefined;
    case "hold": {
      const finalizers = [...(template.metadata.finalizers ?? []), HOLD];
      await cluster.patch(template, { metadata: { finalizers } });
      const note = "A deletion of this template takes effect once no machine needs it any more.";
      await tell(context, { regarding: template, type: "Normal", reason: "TemplateHeld", action: "Hold", note });
      return act("held");
    }
    case "record": {
      const annotations = { [RETIRED_AT]: timestamp(retiredSince(template) ?? now()) };
      await cluster.patch(template, { metadata: { annotations, labels: { [RETIRED_LABEL]: "true" } } });
      return act("retired");
    }
    default:
      return decision satisfies never;
  }
}
