import { checkAll } from "../../functions/rewrite-urls/carry-out.ts";
import { createCheck } from "../../functions/rewrite-urls/check.ts";
import { decideAll, type UrlFacts } from "../../functions/rewrite-urls/decide.ts";
import type { UrlChange } from "../../functions/rewrite-urls/findings.ts";
import type { Carriers } from "../../functions/rewrite-urls/gather.ts";
import type { Rules } from "../../functions/rewrite-urls/rules.ts";
import { decideUndoAll } from "../../functions/rewrite-urls/undo.ts";
import { redact } from "../../functions/rewrite-urls/url.ts";
import { createTally } from "../../shared/acts/tally.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { type KubeObject, keyOf, keyText } from "../../shared/objects/object.ts";
import { createLog } from "../../shared/setup/log.ts";
import type { Planned } from "./decisions.ts";

type Rewriting = Extract<Planned, { concern: "rewrite-urls" }>;

/** A look that was made, and those objects of it that rewriting or undoing is about. */
interface Looked {
  readonly facts: UrlFacts;
  readonly carriers: Carriers;
}

/**
 * What rewrite-urls would do. Throws an AggregateError where a kind that holds URLs cannot be listed.
 *
 * @param check asks the new URLs over the network, and plans a refusal where they do not answer as they must
 */
export async function planRewrites(
  cluster: Cluster,
  { facts, carriers }: Looked,
  rules: Rules,
  { now, check }: { readonly now: Temporal.Instant; readonly check: boolean },
): Promise<readonly Rewriting[]> {
  const objects = await allOf(carriers, cluster);
  const decided = decideAll(objects, facts, rules, now);
  const byKey = new Map(objects.map((object) => [keyText(keyOf(object)), object]));
  const terms = { facts, rules, check: createCheck() };
  return Promise.all(
    decided.map(async ({ object, decision }): Promise<Rewriting> => {
      const live = byKey.get(keyText(object));
      if (!check || live === undefined || decision.verdict !== "rewrite") return planned(object, decision);
      const stop = (await checkAll(live, decision.changes, terms)).find(({ result }) => result === "refuse");
      if (stop?.result !== "refuse") return planned(object, decision);
      const paths = decision.changes.map(({ path }) => path);
      return planned(object, { verdict: "refuse", because: stop.because, paths, reason: redact(stop.reason) });
    }),
  );
}

/** What undoing every rewrite would do. Throws as `planRewrites` does. */
export async function planUndo(cluster: Cluster, { facts, carriers }: Looked): Promise<readonly Rewriting[]> {
  const objects = await allOf(carriers, cluster);
  return decideUndoAll(objects, facts.graph).map(({ object, decision }) => planned(object, decision));
}

async function allOf(carriers: Carriers, cluster: Cluster): Promise<readonly KubeObject[]> {
  const tally = createTally(createLog("silent", "plan"));
  const objects = await carriers.complete(cluster, tally);
  tally.outcome();
  return objects;
}

function planned(object: Rewriting["object"], decision: Rewriting["decision"]): Rewriting {
  const shown = "changes" in decision ? { ...decision, changes: decision.changes.map(withoutUserInfo) } : decision;
  return { concern: "rewrite-urls", object, decision: shown };
}

function withoutUserInfo({ path, from, to }: UrlChange): UrlChange {
  return { path, from: redact(from), to: redact(to) };
}
