import { type Logger, pino } from "pino";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

/** Structured logs on stdout, one JSON object a line. `level` is pino's. */
export function createLog(level: string, name: string): Log {
  return pino({ level, name, base: { function: name } });
}
