import type { Outcome } from "../harness/command.ts";
import { helm } from "../harness/helm.ts";
import { valueAt } from "../harness/objects.ts";
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

function settings(values: ChartValues): string[] {
  return Object.entries(values).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
}

function demandSuccess(verb: string, major: HelmMajor, { code, stderr }: Outcome): void {
  if (code !== 0) throw new Error(`helm ${major} ${verb} ended with ${code}: ${stderr}`);
}

/** `helm install`. Throws when it fails. */
export async function install(scene: Scene, major: HelmMajor, chart: string, values: ChartValues): Promise<void> {
  demandSuccess("install", major, await onRelease(scene, major, ["install", chart, ...settings(values)]));
}

/** `helm upgrade` that may fail; its exit code is given back. */
export function attemptUpgrade(
  scene: Scene,
  major: HelmMajor,
  chart: string,
  values: ChartValues,
  ...flags: readonly string[]
): Promise<Outcome> {
  return onRelease(scene, major, ["upgrade", chart, ...settings(values), ...flags]);
}

/** `helm upgrade`. Throws when it fails. */
export async function upgrade(scene: Scene, major: HelmMajor, chart: string, values: ChartValues): Promise<void> {
  demandSuccess("upgrade", major, await attemptUpgrade(scene, major, chart, values));
}

/** What Helm says of the newest revision, such as `deployed`, `failed` or `pending-upgrade`. */
export async function statusOf(scene: Scene, major: HelmMajor): Promise<string> {
  const outcome = await onRelease(scene, major, ["status", "--output", "json"]);
  demandSuccess("status", major, outcome);
  return String(valueAt(JSON.parse(outcome.stdout), "info", "status"));
}
