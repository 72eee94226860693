import { spawn } from "node:child_process";
import { bareEnvironment, track } from "./children.ts";

/** How a command ended and what it printed. */
export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end. An exit code other than 0 is given back, not thrown; a command that cannot be run is. */
export async function run(
  command: string,
  args: readonly string[],
  { env = {}, cwd, input }: { env?: Record<string, string>; cwd?: string; input?: string } = {},
): Promise<Outcome> {
  const child = spawn(command, args, { ...(cwd === undefined ? {} : { cwd }), env: { ...bareEnvironment(), ...env } });
  track(child);
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  // A command may end without having read its input.
  child.stdin.on("error", () => {}).end(input);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  return { code, ...output };
}
