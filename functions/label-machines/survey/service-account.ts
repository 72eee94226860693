import type { Settings } from "../../../shared/setup/settings.ts";
import { CONCERN } from "../marks.ts";

/** Who this function runs as, `namespace:name`: one service account for each function, in the namespace it runs in. */
export function serviceAccountOf({ ownNamespace }: Pick<Settings, "ownNamespace">): string {
  return `${ownNamespace}:${CONCERN}`;
}
