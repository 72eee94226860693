import { NEEDED_BY, RETIRED_AT, RETIRED_BY, RETIRED_LABEL, UNNEEDED_SINCE } from "../../shared/marks/marks.ts";

/** The patch of metadata that takes every mark of a retirement off. */
export const UNRETIRED = {
  annotations: { [RETIRED_AT]: null, [RETIRED_BY]: null, [UNNEEDED_SINCE]: null, [NEEDED_BY]: null },
  labels: { [RETIRED_LABEL]: null },
} as const;
