import { ClusterError } from "../shared/cluster/cluster.ts";
import { InputError } from "../shared/setup/input-error.ts";

/** Runs a program to its end. Bad input ends it with exit 2, a cluster that fails with 1, and the reason on stderr. */
export async function runProgram(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof InputError || error instanceof ClusterError)) throw error;
    process.stderr.write(`${error.message.replaceAll("\n", "; ")}\n`);
    process.exitCode = error instanceof InputError ? 2 : 1;
  }
}
