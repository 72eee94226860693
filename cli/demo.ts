import { handle as collect } from "../functions/collect-templates/index.ts";
import { handle as retain } from "../functions/retain-templates/index.ts";
import { readObjects } from "../shared/cluster/snapshot/read.ts";
import { adoption } from "./demo/adoption.ts";
import { createNarrator } from "./demo/narrator.ts";
import { pivot } from "./demo/pivot.ts";
import { gotAway, revert, summary, upgrade, upgradeAlone } from "./demo/story.ts";
import { createWorld } from "./demo/world.ts";
import { ADOPTION_FOLDER, SAMPLE_FOLDER } from "./sample.ts";

const objects = await readObjects(SAMPLE_FOLDER);
const say = createNarrator((line) => process.stdout.write(`${line}\n`));

await upgradeAlone(await createWorld(objects, { functions: {}, hear: say.hear }), say);

const functions = { "retain-templates": retain, "collect-templates": collect };
const world = await createWorld(objects, { functions, hear: say.hear });
try {
  for (const act of [upgrade, revert, gotAway]) await act(world, say);
  await pivot(objects, say);
  await adoption(await readObjects(ADOPTION_FOLDER), say);
  await summary(world, say);
} finally {
  await world.close();
}

if (say.wrong() > 0) {
  process.stdout.write(`\n${say.wrong()} outcomes are wrong.\n`);
  process.exitCode = 1;
}
