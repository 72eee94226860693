import { describe, expect, test } from "vitest";
import type { Change } from "../../../shared/events/change.ts";
import { mayJustBeUnpaused, unpausing } from "../../../shared/events/unpaused.ts";
import { PAUSED } from "../../../shared/marks/marks.ts";
import type { KubeObject } from "../../../shared/objects/object.ts";
import { annotated, cluster, machineDeployment, NOON, noon, terminating } from "../../build/objects.ts";

const updated = (object: KubeObject): Change => ({ type: "object", action: "update", object });
const at = (generation: number, status?: Readonly<Record<string, unknown>>): KubeObject => {
  const one = cluster();
  return { ...one, metadata: { ...one.metadata, generation }, ...(status && { status }) };
};
const paused = (status: string, minutes: number) => ({
  type: "Paused",
  status,
  lastTransitionTime: noon(minutes).toString({ smallestUnit: "second" }),
});

describe("an update of a Cluster", () => {
  test.each<[string, KubeObject, boolean]>([
    ["unpaused a minute ago", at(2, { conditions: [paused("False", -1)], observedGeneration: 2 }), true],
    ["unpaused long ago", at(2, { conditions: [paused("False", -6)], observedGeneration: 2 }), false],
    ["the same, read as v1beta1", at(2, { v1beta2: { conditions: [paused("False", -6)] } }), false],
    ["its controller still says Paused", at(3, { conditions: [paused("True", -60)], observedGeneration: 2 }), true],
    ["paused", cluster("mgmt", { paused: true }), false],
    ["paused by annotation", annotated(at(2), { [PAUSED]: "" }), false],
    ["Terminating", terminating(at(2)), false],
    ["no condition, a spec that its controller has not seen", at(3, { observedGeneration: 2 }), true],
    ["no condition, a status update", at(3, { observedGeneration: 3, phase: "Provisioned" }), false],
    ["no status at all", at(3), true],
    ["a status without what was observed", at(3, { phase: "Pending" }), true],
    ["another kind", machineDeployment("md"), false],
  ])("%s -> may have unpaused it: %s", (_situation, object, outcome) => {
    expect(mayJustBeUnpaused(updated(object), NOON)).toBe(outcome);
  });

  test("an add or a delete -> no", () => {
    for (const action of ["add", "delete"] as const) {
      expect(mayJustBeUnpaused({ type: "object", action, object: at(3) }, NOON)).toBe(false);
    }
    expect(mayJustBeUnpaused({ type: "sweep" }, NOON)).toBe(false);
  });
});

describe("what tells one unpausing from the next", () => {
  const one = unpausing(at(3, { conditions: [paused("False", -1)] }));
  test.each<[string, KubeObject, boolean]>([
    ["another status", at(3, { conditions: [{ type: "Ready" }, paused("False", -1)], phase: "x" }), true],
    ["another spec", at(4, { conditions: [paused("False", -1)] }), true],
    ["unpaused again", at(3, { conditions: [paused("False", 0)] }), false],
  ])("%s -> the same: %s", (_situation, object, isSame) => {
    expect(unpausing(object) === one).toBe(isSame);
  });

  test("no condition -> the spec's generation", () => {
    expect(unpausing(at(3))).toBe(unpausing(at(3, { observedGeneration: 2 })));
    expect(unpausing(at(3))).not.toBe(unpausing(at(4)));
  });

  test("neither -> unknown", () => {
    expect(unpausing(cluster())).toBeUndefined();
    expect(unpausing(at(3, { conditions: [{ type: "Paused", status: "False" }] }))).toBeUndefined();
  });
});
