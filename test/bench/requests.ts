import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Request } from "../e2e/harness/audit.ts";
import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import { functionsNamespace } from "../e2e/harness/functions.ts";
import { eventually } from "../e2e/harness/wait.ts";

/** Whole lines of a file from an offset on. */
function linesFrom(file: string, offset: number): readonly string[] {
  const descriptor = openSync(file, "r");
  try {
    const rest = Buffer.alloc(fstatSync(descriptor).size - offset);
    readSync(descriptor, rest, 0, rest.length, offset);
    return rest.toString("utf8").split("\n").slice(0, -1);
  } finally {
    closeSync(descriptor);
  }
}

function sizeOf(file: string): number {
  const descriptor = openSync(file, "r");
  try {
    return fstatSync(descriptor).size;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * What the functions asked the API server while something was done, as its audit log (`audit: true`) has it, answered or
 * not. Throws what `act` throws.
 */
export async function requestsDuring(
  { api, own }: ControlPlane,
  act: () => Promise<unknown>,
): Promise<readonly Request[]> {
  if (own === undefined) throw new Error("a given cluster's audit log cannot be read");
  const { auditLog } = own;
  const begin = sizeOf(auditLog);
  await act();
  // The log is written as requests end, so one that came later and is in it comes after all of ours.
  const marker = `/version?marker=${randomUUID()}`;
  await api.raw({ path: marker });
  const lines = await eventually("the audit log to be written", () => {
    const written = linesFrom(auditLog, begin);
    return written.some((line) => line.includes(marker)) ? written : undefined;
  });
  const users = `system:serviceaccount:${functionsNamespace}:`;
  return lines
    .map((line) => JSON.parse(line) as Request)
    .filter(({ user, stage }) => user.username.startsWith(users) && stage !== "ResponseStarted");
}

/** The requests that a function made, by what they cost a server. */
export interface RequestCounts {
  readonly all: number;
  /** Pages of lists. */
  readonly lists: number;
  readonly writes: number;
  /** Writes of Event objects among them. */
  readonly events: number;
}

const WRITES = /^(create|update|patch|delete)/;

/** Counts requests by what they ask. */
export function countsOf(requests: readonly Request[]): RequestCounts {
  const count = (fits: (request: Request) => boolean) => requests.filter(fits).length;
  const isWrite = ({ verb }: Request): boolean => WRITES.test(verb);
  return {
    all: requests.length,
    lists: count(({ verb }) => verb === "list"),
    writes: count(isWrite),
    events: count((request) => isWrite(request) && request.objectRef?.resource === "events"),
  };
}

/** The paths that were listed, each once, without their paging. */
export function listedPaths(requests: readonly Request[]): readonly string[] {
  const paths = requests.filter(({ verb }) => verb === "list").map(({ requestURI }) => requestURI.split("?")[0] ?? "");
  return [...new Set(paths)];
}
