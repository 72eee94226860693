import { readObjects } from "../shared/snapshot/read.ts";
import { createNarrator } from "./demo/narrator.ts";
import { gotAway, revert, summary, upgrade, upgradeAlone } from "./demo/story.ts";
import { createWorld } from "./demo/world.ts";
import { SAMPLE_FOLDER } from "./sample.ts";

const objects = await readObjects(SAMPLE_FOLDER);
const say = createNarrator((line) => process.stdout.write(`${line}\n`));

const alone = await createWorld(objects, false, say.hear);
await upgradeAlone(alone, say);

const world = await createWorld(objects, true, say.hear);
try {
  for (const act of [upgrade, revert, gotAway, summary]) await act(world, say);
} finally {
  await world.close();
}

if (say.wrong() > 0) {
  process.stdout.write(`\n${say.wrong()} outcomes are wrong.\n`);
  process.exitCode = 1;
}
