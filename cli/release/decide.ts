import { optionsTakenOff } from "../../shared/marks/argocd-options.ts";
import { hasHold, MARKS, otherFinalizers, RETIRED_LABEL } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";

/** The patch that takes hold and marks off an object; undefined where it carries none. What people set stays. */
export function releasePatch(object: KubeObject): Record<string, unknown> | undefined {
  const { metadata } = object;
  const isHeld = hasHold(object);
  const marks = MARKS.filter((mark) => metadata.annotations?.[mark] !== undefined);
  const isLabelled = metadata.labels?.[RETIRED_LABEL] !== undefined;
  if (!isHeld && marks.length === 0 && !isLabelled) return undefined;
  return {
    ...(isHeld && { finalizers: otherFinalizers(object) }),
    ...(marks.length > 0 && {
      annotations: { ...Object.fromEntries(marks.map((mark) => [mark, null])), ...optionsTakenOff(object) },
    }),
    ...(isLabelled && { labels: { [RETIRED_LABEL]: null } }),
  };
}
