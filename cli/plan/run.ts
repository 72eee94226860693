import type { UrlFacts } from "../../functions/rewrite-urls/decide.ts";
import { isOfInterest } from "../../functions/rewrite-urls/events.ts";
import { type Carriers, carriersThat, gatherUrlFacts } from "../../functions/rewrite-urls/gather.ts";
import type { Rules } from "../../functions/rewrite-urls/rules.ts";
import { readRules } from "../../functions/rewrite-urls/rules-file.ts";
import { wasRewritten } from "../../functions/rewrite-urls/undo.ts";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { connect } from "../../shared/cluster/connect.ts";
import { isLookedAt } from "../../shared/cluster/in-namespaces.ts";
import { FOREIGN_TARGETS } from "../../shared/graph/references.ts";
import type { Facts } from "../../shared/look/facts.ts";
import type { GroupKind } from "../../shared/objects/object.ts";
import type { Settings } from "../../shared/setup/settings.ts";
import { withSample } from "../sample.ts";
import { planAdoptions } from "./adoptions.ts";
import { planTemplates } from "./decisions.ts";
import { documentOf } from "./document.ts";
import { type Options, readOptions } from "./options.ts";
import { askOwners } from "./owners.ts";
import { printed } from "./print.ts";
import { kindsThatMove, unmovedTemplates } from "./unmoved.ts";

const DEFINITIONS: GroupKind = { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" };

/**
 * What `plan` prints for these arguments: what each function would do. Writes nothing.
 *
 * Throws an InputError for arguments, settings or a snapshot that cannot be read, a ClusterError where a live cluster
 * cannot be asked.
 */
export async function plan(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const options = readOptions(args, withSample(environment));
  const { settings, now, json } = options;
  const rules = settings.rewriteRules === undefined ? undefined : await readRules(settings.rewriteRules);
  const cluster = await connect({ ...settings, dryRun: true });
  const carriers = carriersThat((object) => {
    return options.undo ? wasRewritten(object) : rules !== undefined && isOfInterest(object, rules);
  });
  const facts = seenOf(
    await gatherUrlFacts(cluster, { all: true, also: FOREIGN_TARGETS, visit: carriers.visit }),
    settings,
  );
  const { served } = await cluster.discover();
  const definitions = await cluster.list(DEFINITIONS, { metadataOnly: true });
  const terms = { now, collectGrace: settings.collectGrace, renewAfter: settings.renewAfter };
  const rewrites = options.undo || rules ? await rewritesOf(cluster, { facts, carriers }, rules, options) : [];
  const adoptions = await planAdoptions(cluster, now, settings);
  const owners = await askOwners(cluster, facts);
  const templates = planTemplates(facts, terms, { owners, retireOrphans: settings.retireOrphans });
  const planned = [...templates, ...rewrites, ...adoptions];
  const unmoved = unmovedTemplates(facts.graph, facts.needed, kindsThatMove(definitions, served));
  if (json) return JSON.stringify(documentOf(planned, facts, unmoved, owners), null, 2);
  return printed(planned, facts, unmoved, owners);
}

// What asks and logs over the network is loaded only where it is needed.
async function rewritesOf(
  cluster: Cluster,
  seen: { readonly facts: UrlFacts; readonly carriers: Carriers },
  rules: Rules | undefined,
  options: Options,
) {
  const { planRewrites, planUndo } = await import("./rewrites.ts");
  if (options.undo || rules === undefined) return planUndo(cluster, seen);
  return planRewrites(cluster, seen, rules, options);
}

/** What stands in a namespace that is not looked at is not missing. */
function seenOf<Seen extends Facts>(facts: Seen, settings: Settings): Seen {
  const missing = () => facts.graph.missing().filter(({ target }) => isLookedAt(target.namespace, settings));
  return { ...facts, graph: { ...facts.graph, missing } };
}
