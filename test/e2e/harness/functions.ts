import { join } from "node:path";
import type { ControlPlane } from "./control-plane.ts";
import { projectFolder } from "./paths.ts";
import { freePort } from "./ports.ts";
import { answersOk, type Child, startProcess, untilReady } from "./process.ts";
import { kubeconfigFor } from "./service-account.ts";

/** Where the manifests put the functions, each with a service account of its name. */
export const functionsNamespace = "capi-caretaker";

export interface ServedFunction extends Child {
  /** Where it takes events. */
  url: string;
}

export interface FunctionOptions {
  /** Its settings. */
  env?: Record<string, string>;
  /** Whose kubeconfig it gets; by default that of the service account it is shipped with, which must be installed. */
  kubeconfig?: string;
  /** Tells two of the same function apart in the log's name. */
  name?: string;
}

/** Serves one of the project's functions in a process of its own and waits until it is ready. */
export async function startFunction(
  concern: string,
  controlPlane: Pick<ControlPlane, "name" | "api" | "server">,
  { env = {}, kubeconfig, name = concern }: FunctionOptions = {},
): Promise<ServedFunction> {
  const account = { namespace: functionsNamespace, name: concern };
  const own = kubeconfig ?? (await kubeconfigFor(controlPlane, account));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = await startProcess({
    name: `${controlPlane.name}-${name}`,
    command: process.execPath,
    args: [join(projectFolder, "cli", "start.ts"), concern],
    cwd: projectFolder,
    env: { KUBECONFIG: own, PORT: String(port), ...env },
  });
  await untilReady(child, () => answersOk(`${url}/health/readiness`));
  return { ...child, url };
}
