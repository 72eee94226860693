import { run } from "./command.ts";
import type { KubeObject } from "./objects.ts";
import { binary } from "./paths.ts";

/**
 * What Knative's webhook makes of objects: its defaults are filled in. Objects of other kinds come back as they are. Throws with
 * its words for one that it would refuse.
 */
export async function admitted(objects: readonly KubeObject[]): Promise<KubeObject[]> {
  const { code, stdout, stderr } = await run(binary("eventing"), ["admit"], { input: JSON.stringify(objects) });
  if (code !== 0) throw new Error(`refused by Knative's webhook: ${stderr}`);
  // Go writes the empty status of a new object, which nobody may apply.
  return (JSON.parse(stdout) as KubeObject[]).map(
    ({ status: _, metadata: { creationTimestamp: __, ...metadata }, ...rest }) => {
      return { ...rest, metadata };
    },
  );
}
