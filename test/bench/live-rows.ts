import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import type { BareList } from "./bare-list.ts";
import { bareList, parseRate, shellScript } from "./baselines.ts";
import { type Case, casesIn } from "./cases.ts";
import { sweep } from "./events.ts";
import { startGenerated } from "./live.ts";
import { inShort, type Measured, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import { listedPaths } from "./requests.ts";
import type { Row } from "./row.ts";
import { runCase, servedOnes } from "./run-cases.ts";

/** Above so many machines only what is said to be for large clusters is measured. */
const LARGE = 10_000;

function median(lists: readonly BareList[]): BareList | undefined {
  return lists.toSorted((a, b) => a.wallMs - b.wallMs)[Math.floor((lists.length - 1) / 2)];
}

/** The collections that a sweep of collect-templates lists; asked of one that is then thrown away. */
async function sweptPaths(controlPlane: ControlPlane, served: ReturnType<typeof servedOnes>, one: Case) {
  const process = await served.for(one);
  const measured = await measure(controlPlane, process, () => sweep(process.url));
  if ("failure" in measured) throw new Error(`a sweep failed: ${measured.failure}`);
  return listedPaths(measured.asked);
}

function ratiosOf(measured: Measured, list: BareList, rate: number): Partial<Row> {
  if ("failure" in measured) return {};
  const { wallMs, cpuMs, bytesRead } = measured.cost;
  // Of a few answers alone, the clock's tick would be all that is told.
  return { toBareList: wallMs / list.wallMs, ...(bytesRead > 1e6 && { toParse: cpuMs / (bytesRead / rate) }) };
}

const baselineRow = (machines: number, list: BareList): Row => ({
  machines,
  name: "bare lists of the same kinds, metadata alone",
  measured: {
    cost: {
      wallMs: list.wallMs,
      cpuMs: list.cpuMs,
      bytesRead: list.bytes,
      peakBytes: list.peakBytes,
      requests: { all: list.pages, lists: list.pages, writes: 0, events: 0 },
    },
  },
});

/** Measures everything that is asked for on one generated cluster. `say` is told what is going on. */
export async function liveRows(
  machines: number,
  { only, runs }: Options,
  bundle: string,
  say: (text: string) => void,
): Promise<readonly Row[]> {
  const seeding = performance.now();
  const controlPlane = await startGenerated(machines);
  say(`${machines} machines are there after ${Math.round((performance.now() - seeding) / 1000)} s`);
  const stage = { controlPlane, bundle, machines, runs: machines > LARGE ? 1 : runs };
  const served = servedOnes(stage);
  const { kubeconfig, folder } = controlPlane;
  try {
    const [first, ...rest] = casesIn(folder);
    if (first === undefined) return [];
    const paths = await sweptPaths(controlPlane, served, first);
    const rate = await parseRate(kubeconfig, paths);
    const lists = [await bareList(kubeconfig, paths)];
    const measured: [Case, Measured][] = [];
    for (const one of [first, ...rest]) {
      if (!only.includes(one.group) || (machines > LARGE && one.isForLarge !== true)) continue;
      const again = async () => void (one.isOnce !== true && lists.push(await bareList(kubeconfig, paths)));
      const cost = await runCase(stage, one, served, again);
      say(`${one.name}: ${inShort(cost)}`);
      measured.push([one, cost]);
    }
    const shell = only.includes("shell") && machines <= LARGE ? await shellScript(kubeconfig, folder) : undefined;
    if (typeof shell === "string") say(shell);
    const list = median(lists);
    if (list === undefined) return [];
    const rows = measured.map(([{ name, group }, cost]): Row => {
      const isComparable = typeof shell === "object" && group === "sweep" && "cost" in cost;
      const toShell = isComparable ? cost.cost.wallMs / shell.wallMs : undefined;
      return { machines, name, measured: cost, ...ratiosOf(cost, list, rate), toShell };
    });
    const shellRow = (): Row => ({
      machines,
      name: "shell: kubectl, and a jq for each template",
      measured: typeof shell === "object" ? { cost: { wallMs: shell.wallMs } } : { failure: shell ?? "" },
    });
    return [...rows, baselineRow(machines, list), ...(shell === undefined ? [] : [shellRow()])];
  } finally {
    await served.stop();
    await controlPlane.stop();
  }
}
