import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { NODE_FLAGS } from "../../cli/bundle/node-flags.ts";
import type { ControlPlane } from "../e2e/harness/control-plane.ts";
import { functionsNamespace } from "../e2e/harness/functions.ts";
import { freePort } from "../e2e/harness/ports.ts";
import { answersOk, type Child, startProcess, untilReady } from "../e2e/harness/process.ts";
import { kubeconfigFor } from "../e2e/harness/service-account.ts";

/** A function as it is shipped, in a process of its own. */
export interface Served extends Child {
  /** Where it takes events. */
  readonly url: string;
}

export type Concern = "collect-templates" | "retain-templates" | "rewrite-urls";

/** Builds the one file that a checkout of the project ships. Returns its path. */
export function bundleOf(project: string): string {
  execFileSync(process.execPath, ["cli/bundle.ts"], { cwd: project, stdio: "ignore" });
  return join(project, "dist", "caretaker.mjs");
}

let started = 0;

/** Serves a function from the bundle as its own service account, and waits until it is ready. */
export async function serve(
  concern: Concern,
  bundle: string,
  controlPlane: ControlPlane,
  env: Record<string, string> = {},
): Promise<Served> {
  const kubeconfig = await kubeconfigFor(controlPlane, { namespace: functionsNamespace, name: concern });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  started += 1;
  const child = await startProcess({
    name: `${concern}-${started}`,
    command: process.execPath,
    args: [...NODE_FLAGS, bundle, concern],
    env: { KUBECONFIG: kubeconfig, PORT: String(port), ...env },
  });
  await untilReady(child, () => answersOk(`${url}/health/readiness`));
  return { ...child, url };
}
