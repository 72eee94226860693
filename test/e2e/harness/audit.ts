import { readFileSync } from "node:fs";
import type { ControlPlane } from "./control-plane.ts";

/** A request as the audit log has it, complete or, for a watch, also when it was answered first. */
export interface Request {
  stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  verb: string;
  requestURI: string;
  user: { username: string };
  userAgent?: string;
  objectRef?: {
    resource?: string;
    apiGroup?: string;
    apiVersion?: string;
    namespace?: string;
    name?: string;
    subresource?: string;
  };
  responseStatus?: { code: number };
  annotations?: Record<string, string>;
  requestReceivedTimestamp: string;
}

/** All requests of an audit log, in order of their answers. */
export function readAudit(file: string): Request[] {
  // The last line may be half written.
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Request);
}

/**
 * The requests that came in at or after a time, in order of their answers. Without `audit: true` there are only those of
 * service accounts and the event source's watches. Throws for a given cluster.
 */
export function requestsSince(controlPlane: ControlPlane, since: Date): Request[] {
  if (controlPlane.own === undefined) throw new Error("a given cluster's audit log cannot be read");
  return readAudit(controlPlane.own.auditLog).filter(
    ({ requestReceivedTimestamp }) => new Date(requestReceivedTimestamp) >= since,
  );
}
