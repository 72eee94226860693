import type { Outcome } from "../harness/command.ts";
import { helm } from "../harness/helm.ts";
import type { ChartValues } from "./hashed-chart.ts";
import type { Scene } from "./stage.ts";

export type HelmMajor = 3 | 4;

/** Runs Helm on the scene's one release. An exit code other than 0 is given back. */
export function onRelease(
  { controlPlane, namespace }: Scene,
  major: HelmMajor,
  [verb, ...rest]: readonly [string, ...string[]],
): Promise<Outcome> {
  return helm(major, controlPlane, [verb, "workers", ...rest, "--namespace", namespace]);
}

async function succeeding(scene: Scene, major: HelmMajor, args: readonly [string, ...string[]]): Promise<void> {
  const { code, stderr } = await onRelease(scene, major, args);
  if (code !== 0) throw new Error(`helm ${major} ${args[0]} ended with ${code}: ${stderr}`);
}

function settings(values: ChartValues): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
}

/** `helm install`. Throws when it fails. */
export function install(scene: Scene, major: HelmMajor, chart: string, values: ChartValues): Promise<void> {
  return succeeding(scene, major, ["install", chart, ...settings(values)]);
}

/** `helm upgrade`. Throws when it fails. */
export function upgrade(scene: Scene, major: HelmMajor, chart: string, values: ChartValues): Promise<void> {
  return succeeding(scene, major, ["upgrade", chart, ...settings(values)]);
}
