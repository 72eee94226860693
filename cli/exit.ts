import { InputError } from "../shared/input-error.ts";

/** Runs a program to its end. Input that cannot be read ends it with exit 2 and the reason on stderr. */
export async function runProgram(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}
