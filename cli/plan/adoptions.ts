import { serviceAccountOf } from "../../functions/label-machines/survey/service-account.ts";
import { survey } from "../../functions/label-machines/survey/survey.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import type { Settings } from "../../shared/setup/settings.ts";
import type { Planned } from "./decisions.ts";

/** What label-machines would do with every control plane and Cluster that a person marked. */
export async function planAdoptions(
  cluster: Cluster,
  now: Temporal.Instant,
  settings: Settings,
): Promise<readonly Planned[]> {
  const surveyed = await survey(cluster, now, serviceAccountOf(settings));
  return surveyed.flatMap(({ object, decision }): Planned[] =>
    decision.verdict === "leave" ? [] : [{ concern: "label-machines", object, decision }],
  );
}
