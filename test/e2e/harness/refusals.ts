import { existsSync } from "node:fs";
import { readAudit } from "./audit.ts";

/** What a test lets the API server refuse to a service account, because missing rights are what it is about. */
export interface Allowance {
  /** As `namespace/name`. */
  account: string;
  /** As `verb group/resource`. */
  grant: string;
}

const allowances: (Allowance & { isUsed: boolean })[] = [];

/** Lets a refusal pass at the teardown of this file's control planes, which fails without it, and also when it never came. */
export function allowRefusal(allowance: Allowance): void {
  allowances.push({ ...allowance, isUsed: false });
}

/** Throws with every request that the API server refused a service account for want of a right, and no test allowed. */
export function assertNoRefusals(auditLog: string): void {
  if (!existsSync(auditLog)) return;
  const unforeseen = new Set<string>();
  for (const { user, verb, objectRef, requestURI, annotations } of readAudit(auditLog)) {
    // A namespace that terminates and a quota also answer 403, to whoever has the right.
    if (annotations?.["authorization.k8s.io/decision"] !== "forbid") continue;
    const [, account] = /^system:serviceaccount:(.*)$/.exec(user.username) ?? [];
    if (account === undefined) continue;
    const { apiGroup = "", resource, subresource, namespace = "" } = objectRef ?? {};
    const what = resource === undefined ? requestURI : [`${apiGroup}/${resource}`, subresource ?? []].flat().join("/");
    const grant = `${verb} ${what}`;
    const allowed = allowances.find((one) => one.account === account.replace(":", "/") && one.grant === grant);
    if (allowed === undefined) unforeseen.add(`${account.replace(":", "/")}: ${grant} in "${namespace}"`);
    else allowed.isUsed = true;
  }
  if (unforeseen.size > 0) throw new Error(`refused for want of a right:\n${[...unforeseen].join("\n")}`);
}

/** Throws where a refusal that a test allowed never came. To be called after the last control plane was looked at. */
export function assertAllowancesUsed(): void {
  const idle = allowances.splice(0).filter(({ isUsed }) => !isUsed);
  if (idle.length > 0) throw new Error(`allowed, and never refused: ${JSON.stringify(idle)}`);
}
