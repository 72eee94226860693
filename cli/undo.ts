import { carriersThat, gatherUrlFacts } from "../functions/rewrite-urls/gather.ts";
import { decideUndoAll, undo, wasRewritten } from "../functions/rewrite-urls/undo.ts";
import { createTally } from "../shared/acts/tally.ts";
import { connect } from "../shared/cluster/connect.ts";
import { keyText } from "../shared/objects/object.ts";
import { createLog } from "../shared/setup/log.ts";
import { readSettings } from "../shared/setup/settings.ts";
import { runProgram } from "./exit.ts";

// Puts every rewritten URL back as it was before us. While the rules stand, the next sweep rewrites it again.
await runProgram(async () => {
  const settings = readSettings(process.env);
  const log = createLog("warn", "undo");
  const context = { cluster: await connect(settings), settings, log, now: () => Temporal.Now.instant() };
  const { visit, complete } = carriersThat(wasRewritten);
  const facts = await gatherUrlFacts(context.cluster, { visit });
  const tally = createTally(log);
  const objects = await complete(context.cluster, tally);
  for (const { object, decision } of decideUndoAll(objects, facts.graph)) {
    if (decision.verdict === "wait") {
      process.stdout.write(`waits, its Cluster is paused: ${keyText(object)}\n`);
      continue;
    }
    const isDone = await tally.try(keyText(object), () => undo(context, object, facts.graph));
    if (isDone) process.stdout.write(`put back: ${keyText(object)}\n`);
  }
  tally.outcome();
});
