import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { projectFolder } from "../e2e/harness/paths.ts";

/** Everything that is measured, by the name `--only` takes. */
export const groups = ["event", "sweep", "rewrite", "shell", "plan"] as const;
export type Group = (typeof groups)[number];

export interface Options {
  /** Machines of each generated cluster. */
  readonly machines: readonly number[];
  readonly only: readonly Group[];
  /** How often each is measured; the median is told. */
  readonly runs: number;
  /** The checkout whose bundle and `plan` are measured. */
  readonly project: string;
}

export const help = `usage: npm run bench -- [options]

Measures the functions on generated clusters, on the real etcd and kube-apiserver of the end-to-end parts, and plan on
snapshots. Prints a Markdown table; docs/performance.md says what each row means.

  --machines N[,N…]   machines of each cluster (1000,10000)
  --only GROUP[,…]    some of ${groups.join(", ")} (all)
  --runs N            measure each so often and tell the median (3)
  --project DIR       measure another checkout of this project, such as one from before a change (this one)
  --help              print this

Above 10,000 machines only the sweeps and the 20 and 200 events at once are measured, each once; plan stops at 30,000.
`;

const isGroup = (text: string): text is Group => groups.some((group) => group === text);

function wholeNumber(text: string, option: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`${option} is ${text}; it may be a whole number from 1`);
  return value;
}

/** Reads the command line; undefined where help is asked for. Throws with the option and what it may hold. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      machines: { type: "string", default: "1000,10000" },
      only: { type: "string", default: groups.join(",") },
      runs: { type: "string", default: "3" },
      project: { type: "string", default: projectFolder },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const only = values.only.split(",");
  if (!only.every(isGroup)) throw new Error(`--only is ${values.only}; it may be some of ${groups.join(", ")}`);
  return {
    machines: values.machines.split(",").map((one) => wholeNumber(one, "--machines")),
    only,
    runs: wholeNumber(values.runs, "--runs"),
    project: resolve(values.project),
  };
}

/** The machine that this runs on, for whoever reads the numbers. */
export function thisMachine(totalBytes: number): string {
  return `${availableParallelism()} cores, ${Math.round(totalBytes / 2 ** 30)} GiB, ${process.platform} ${process.arch}, Node ${process.versions.node}`;
}
