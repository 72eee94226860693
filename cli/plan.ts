import { connect } from "../shared/connect.ts";
import { gatherFacts } from "../shared/facts.ts";
import { InputError } from "../shared/input-error.ts";
import type { GroupKind } from "../shared/object.ts";
import { FOREIGN_TARGETS } from "../shared/references.ts";
import { planAll } from "./plan/decisions.ts";
import { documentOf } from "./plan/document.ts";
import { readOptions } from "./plan/options.ts";
import { printed } from "./plan/print.ts";
import { kindsThatMove, unmovedTemplates } from "./plan/unmoved.ts";
import { withSample } from "./sample.ts";

const DEFINITIONS: GroupKind = { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" };

async function main(): Promise<void> {
  const { settings, now, json } = readOptions(process.argv.slice(2), withSample(process.env));
  const cluster = await connect({ ...settings, dryRun: true });
  const facts = await gatherFacts(cluster, FOREIGN_TARGETS);
  const { served } = await cluster.discover();
  const definitions = await cluster.list(DEFINITIONS, { metadataOnly: true });
  const planned = planAll(facts, { now, collectGrace: settings.collectGrace, renewAfter: settings.renewAfter });
  const unmoved = unmovedTemplates(facts.graph, facts.needed, kindsThatMove(definitions, served));
  const text = json ? JSON.stringify(documentOf(planned, facts, unmoved), null, 2) : printed(planned, facts, unmoved);
  process.stdout.write(`${text}\n`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
