import { expect, test } from "vitest";
import { trackedBy } from "../../../shared/owners/argocd.ts";
import { annotated, metal3MachineTemplate, namespace } from "../../build/objects.ts";

const GROUP = "infrastructure.cluster.x-k8s.io";
const THIS = `${GROUP}/Metal3MachineTemplate:sylva/t`;
const OWN = undefined;

test.each<readonly [situation: string, id: string | undefined, application: ReturnType<typeof trackedBy>]>([
  ["no annotation -> not tracked", undefined, undefined],
  ["its own id -> its Application", `capi:${THIS}`, { namespace: OWN, name: "capi" }],
  ["an Application in a namespace of its own -> both", `team-a_capi:${THIS}`, { namespace: "team-a", name: "capi" }],
  ["an id of another name, copied -> not tracked", `capi:${GROUP}/Metal3MachineTemplate:sylva/old`, undefined],
  ["an id of another namespace -> not tracked", `capi:${GROUP}/Metal3MachineTemplate:other/t`, undefined],
  ["an id of another kind -> not tracked", `capi:${GROUP}/Metal3DataTemplate:sylva/t`, undefined],
  ["an id of another group -> not tracked", "capi:metal3.io/Metal3MachineTemplate:sylva/t", undefined],
  ["an id without an Application -> not tracked", `:${THIS}`, undefined],
  ["an underscore without a namespace -> not tracked", `_capi:${THIS}`, undefined],
  ["an underscore without a name -> not tracked", `team-a_:${THIS}`, undefined],
  ["more underscores than one -> not tracked", `a_b_c:${THIS}`, undefined],
  ["an app name alone -> not tracked", "capi", undefined],
  ["an empty id -> not tracked", "", undefined],
  ["something after the name -> not tracked", `capi:${THIS}/more`, undefined],
])("%s", (_, id, application) => {
  const template = metal3MachineTemplate("t");
  const object = id === undefined ? template : annotated(template, { "argocd.argoproj.io/tracking-id": id });
  expect(trackedBy(object)).toEqual(application);
});

test("an object without group and namespace -> its Application", () => {
  const home = annotated(namespace("sylva"), { "argocd.argoproj.io/tracking-id": "capi:/Namespace:/sylva" });
  expect(trackedBy(home)).toEqual({ namespace: undefined, name: "capi" });
});
