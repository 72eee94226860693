import type { KubeObject } from "../../e2e/harness/objects.ts";
import { clusters } from "./clusters.ts";
import { machineWithParts } from "./machines.ts";
import { templates } from "./templates.ts";

/**
 * Every object of a management cluster with 50 Clusters, 200 templates and `machines` machines, one after the other: the
 * same objects for the same number, each out of its index alone. They are as a server would store them.
 */
export function* generate(machines: number): Generator<KubeObject> {
  yield* clusters();
  yield* templates();
  for (let index = 0; index < machines; index += 1) yield* machineWithParts(index);
}
