import type { ControlPlane } from "./control-plane.ts";
import { binary } from "./paths.ts";
import { freePorts } from "./ports.ts";
import { answersOk, type Child, startProcess, untilReady } from "./process.ts";

export type CapiManager = "capi-core" | "capi-kubeadm-bootstrap" | "capi-kubeadm-control-plane";

export interface CapiOptions {
  /** `--feature-gates`, such as `{ClusterTopology: true}`. */
  featureGates?: Record<string, boolean>;
  /** Seconds in Go's notation between two visits of an unchanged object; Cluster API's own default is 10m. */
  syncPeriod?: string;
}

/**
 * Starts one of Cluster API's managers without its webhooks (nothing is defaulted or validated) and waits until it is ready.
 * Its CRDs must be there. Throws for a given cluster, which runs its own.
 */
export async function startCapi(
  manager: CapiManager,
  controlPlane: ControlPlane,
  { featureGates = {}, syncPeriod }: CapiOptions = {},
): Promise<Child> {
  if (controlPlane.own === undefined) throw new Error(`${manager} is not started beside a given cluster`);
  const [webhookPort, diagnosticsPort, healthPort] = await freePorts(3);
  const gates = Object.entries(featureGates).map(([gate, isOn]) => `${gate}=${isOn}`);
  const child = await startProcess({
    name: `${controlPlane.name}-${manager}`,
    command: binary(manager),
    args: [
      `--kubeconfig=${controlPlane.kubeconfig}`,
      "--leader-elect=false",
      `--webhook-port=${webhookPort}`,
      // It wants a certificate even when no webhook is configured.
      `--webhook-cert-dir=${controlPlane.folder}`,
      `--diagnostics-address=127.0.0.1:${diagnosticsPort}`,
      "--insecure-diagnostics",
      `--health-addr=127.0.0.1:${healthPort}`,
      ...(gates.length > 0 ? [`--feature-gates=${gates.join(",")}`] : []),
      ...(syncPeriod === undefined ? [] : [`--sync-period=${syncPeriod}`]),
    ],
  });
  await untilReady(child, () => answersOk(`http://127.0.0.1:${healthPort}/readyz`));
  return child;
}
