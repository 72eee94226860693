import type { Cost, Measured } from "./measure.ts";

/** One line of the table. */
export interface Row {
  readonly machines: number;
  readonly name: string;
  readonly measured: Measured | { readonly cost: Partial<Cost> };
  /** How often the cost of the bare lists this is, by wall time. */
  readonly toBareList?: number | undefined;
  /** How often the time that JSON.parse takes for the bytes received, by CPU. */
  readonly toParse?: number | undefined;
  /** How often the shell script's, by wall time. */
  readonly toShell?: number | undefined;
}

const HEADER = [
  "machines",
  "case",
  "requests (lists, Events)",
  "received MB",
  "wall s",
  "CPU s",
  "peak RSS MB",
  "× bare lists (wall)",
  "× JSON.parse (CPU)",
  "× shell (wall)",
];

const scaled = (value: number | undefined, by: number, digits: number): string =>
  value === undefined ? "" : (value / by).toFixed(digits);

function ratio(value: number | undefined): string {
  if (value === undefined) return "";
  return value >= 10 ? value.toFixed(0) : value.toPrecision(2);
}

function cellsOf({ machines, name, measured, toBareList, toParse, toShell }: Row): readonly string[] {
  const head = [machines.toLocaleString("en"), name];
  if ("failure" in measured) return [...head, measured.failure, "", "", "", "", "", "", ""];
  const { requests, bytesRead, wallMs, cpuMs, peakBytes } = measured.cost;
  const asked = requests === undefined ? "" : `${requests.all} (${requests.lists}, ${requests.events})`;
  return [
    ...head,
    asked,
    scaled(bytesRead, 1e6, 2),
    scaled(wallMs, 1000, 3),
    scaled(cpuMs, 1000, 2),
    scaled(peakBytes, 1e6, 0),
    ratio(toBareList),
    ratio(toParse),
    ratio(toShell),
  ];
}

/** The rows as a Markdown table. */
export function tableOf(rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = HEADER.map((_, column) => (column === 1 ? "---" : "---:"));
  return [HEADER, rule, ...rows.map(cellsOf)].map(line).join("\n");
}
