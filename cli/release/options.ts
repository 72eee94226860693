import { parseArgs } from "node:util";
import { InputError } from "../../shared/setup/input-error.ts";

/** Which templates are released. */
export type Scope =
  | { readonly of: "all" }
  | { readonly of: "namespace"; readonly namespace: string }
  | { readonly of: "cluster"; readonly namespace: string; readonly name: string };

const USAGE = "usage: npm run release -- --all | --namespace NAMESPACE | --cluster NAMESPACE/NAME";

/** Reads release's command line. Throws an InputError where it does not name exactly one scope. */
export function readScope(args: readonly string[]): Scope {
  const { all, namespace, cluster } = parse(args);
  const named = [all, namespace, cluster].filter((one) => one !== undefined);
  if (named.length !== 1) throw new InputError(`name what to release; ${USAGE}`);
  if (namespace !== undefined) return { of: "namespace", namespace };
  if (cluster === undefined) return { of: "all" };
  const [home, name, ...more] = cluster.split("/");
  if (!home || !name || more.length > 0) {
    throw new InputError(`--cluster is ${JSON.stringify(cluster)}; it may be NAMESPACE/NAME`);
  }
  return { of: "cluster", namespace: home, name };
}

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { all: { type: "boolean" }, namespace: { type: "string" }, cluster: { type: "string" } },
    });
    return values;
  } catch (error) {
    throw new InputError(`${error instanceof Error ? error.message : String(error)}; ${USAGE}`, { cause: error });
  }
}
