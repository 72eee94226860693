import { expect, test } from "vitest";
import { ARGOCD_OPTIONS, optionsTakenOff, pruningOf } from "../../../shared/marks/argocd-options.ts";
import type { KubeObject } from "../../../shared/objects/object.ts";
import { annotated, metal3MachineTemplate } from "../../build/objects.ts";

const SYNC = "argocd.argoproj.io/sync-options";
const COMPARE = "argocd.argoproj.io/compare-options";
const BOTH = { [SYNC]: "Prune=false", [COMPARE]: "IgnoreExtraneous" };
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

const t = metal3MachineTemplate("t");
const marked = (one: KubeObject, options: object = BOTH) =>
  annotated(one, { [ARGOCD_OPTIONS]: JSON.stringify(options) });
const lastApplied = (one: KubeObject, annotations: object) =>
  annotated(one, { [LAST_APPLIED]: JSON.stringify({ metadata: { annotations } }) });

function ownedBy(one: KubeObject, manager: string, operation: string, ...annotations: readonly string[]): KubeObject {
  const fields = Object.fromEntries(annotations.map((name) => [`f:${name}`, {}]));
  const entry = { manager, operation, fieldsV1: { "f:metadata": { "f:annotations": fields } } };
  return { ...one, metadata: { ...one.metadata, managedFields: [...(one.metadata.managedFields ?? []), entry] } };
}

const on = (sync: string | undefined, compare: string | undefined) => ({
  state: "on",
  ...(sync !== undefined && { [SYNC]: sync }),
  ...(compare !== undefined && { [COMPARE]: compare }),
});

test.each<readonly [situation: string, object: KubeObject, outcome: object]>([
  ["no options -> both", t, on("Prune=false", "IgnoreExtraneous")],
  [
    "other options -> appended in order",
    annotated(t, { [SYNC]: "Validate=false, Delete=false", [COMPARE]: "X" }),
    on("Validate=false, Delete=false,Prune=false", "X,IgnoreExtraneous"),
  ],
  ["an empty list -> ours alone", annotated(t, { [SYNC]: "", [COMPARE]: "" }), on("Prune=false", "IgnoreExtraneous")],
  [
    "PruneLast is no value of Prune -> appended",
    annotated(t, { [SYNC]: "PruneLast=true" }),
    on("PruneLast=true,Prune=false", "IgnoreExtraneous"),
  ],
  ["both there -> off", annotated(t, BOTH), { state: "off" }],
  [
    "both there among others, with spaces -> off",
    annotated(t, { [SYNC]: "A=b , Prune=false", [COMPARE]: " IgnoreExtraneous ,B" }),
    { state: "off" },
  ],
  [
    "no pruning said, compare options lacking -> those alone",
    annotated(t, { [SYNC]: "Prune=false" }),
    on(undefined, "IgnoreExtraneous"),
  ],
  ["Prune=true -> taken", annotated(t, { [SYNC]: "Prune=true" }), { state: "taken" }],
  ["Prune=confirm -> taken", annotated(t, { [SYNC]: "A=b,Prune=confirm" }), { state: "taken" }],
  [
    "Prune=true before ours, which then says nothing -> taken",
    annotated(t, { [SYNC]: "Prune=true,Prune=false" }),
    { state: "taken" },
  ],
  [
    "ours before Prune=true, which then says nothing -> off",
    annotated(t, { ...BOTH, [SYNC]: "Prune=false,Prune=true" }),
    { state: "off" },
  ],
  [
    "its source applies sync options, client-side -> taken",
    lastApplied(annotated(t, { [SYNC]: "A=b" }), { [SYNC]: "A=b" }),
    { state: "taken" },
  ],
  [
    "its source applies them, server-side -> taken",
    ownedBy(annotated(t, { [SYNC]: "A=b" }), "argocd-controller", "Apply", SYNC),
    { state: "taken" },
  ],
  [
    "its source replaces with them -> taken",
    ownedBy(annotated(t, { [SYNC]: "Replace=true" }), "argocd-controller", "Update", SYNC),
    { state: "taken" },
  ],
  [
    "its source applies Prune=false -> the other alone",
    lastApplied(annotated(t, { [SYNC]: "Prune=false" }), { [SYNC]: "Prune=false" }),
    on(undefined, "IgnoreExtraneous"),
  ],
  [
    "its source applies other compare options -> those stay, the rest is ours",
    lastApplied(annotated(t, { [COMPARE]: "X" }), { [COMPARE]: "X" }),
    on("Prune=false", undefined),
  ],
  ["its source applies both -> off", lastApplied(annotated(t, BOTH), BOTH), { state: "off" }],
  [
    "its source applies other annotations -> both",
    ownedBy(lastApplied(t, { a: "b" }), "argocd-controller", "Apply", "a"),
    on("Prune=false", "IgnoreExtraneous"),
  ],
  [
    "a person annotated it by hand -> appended",
    ownedBy(annotated(t, { [SYNC]: "Delete=false" }), "kubectl-annotate", "Update", SYNC),
    on("Delete=false,Prune=false", "IgnoreExtraneous"),
  ],
  [
    "we wrote it before, something took it off -> both again",
    ownedBy(marked(t), "capi-caretaker", "Update", ARGOCD_OPTIONS),
    on("Prune=false", "IgnoreExtraneous"),
  ],
  [
    "what was last applied cannot be read -> both",
    annotated(t, { [LAST_APPLIED]: "{" }),
    on("Prune=false", "IgnoreExtraneous"),
  ],
])("%s", (_, object, outcome) => {
  const pruning = pruningOf(object);
  const { [ARGOCD_OPTIONS]: mark, ...lists } = pruning.state === "on" ? pruning.annotations : {};
  expect({ state: pruning.state, ...lists }).toEqual(outcome);
  if (pruning.state === "on") expect(Object.keys(JSON.parse(mark ?? ""))).toEqual(Object.keys(lists));
});

test.each<readonly [situation: string, object: KubeObject, outcome: object | undefined]>([
  ["nothing of ours -> undefined", annotated(t, BOTH), undefined],
  ["only ours -> both gone", marked(annotated(t, BOTH)), { [SYNC]: null, [COMPARE]: null }],
  [
    "ours after others -> the former text, spaces and all",
    marked(annotated(t, { ...BOTH, [SYNC]: "A=b , C=d,Prune=false" })),
    { [SYNC]: "A=b , C=d", [COMPARE]: null },
  ],
  [
    "others added since -> theirs stay",
    marked(annotated(t, { ...BOTH, [SYNC]: "Prune=false,A=b" })),
    { [SYNC]: "A=b", [COMPARE]: null },
  ],
  [
    "the owner's own Prune=false -> stays",
    marked(annotated(t, BOTH), { [COMPARE]: "IgnoreExtraneous" }),
    { [COMPARE]: null },
  ],
  [
    "the source sets it itself by now -> stays",
    lastApplied(marked(annotated(t, BOTH)), { [SYNC]: "Prune=false" }),
    { [COMPARE]: null },
  ],
  ["another value since -> stays", marked(annotated(t, { [SYNC]: "Prune=true" })), {}],
  ["a record that names another annotation -> only ours are touched", marked(annotated(t, { x: "y" }), { x: "y" }), {}],
  ["a record that nobody can read -> the record alone", annotated(annotated(t, BOTH), { [ARGOCD_OPTIONS]: "{" }), {}],
])("taken off: %s", (_, object, outcome) => {
  expect(optionsTakenOff(object)).toEqual(outcome && { ...outcome, [ARGOCD_OPTIONS]: null });
});

test("what was added -> taken off again, the object is as before", () => {
  const before = annotated(t, { [SYNC]: "A=b, C=d", other: "x" });
  const pruning = pruningOf(before);
  if (pruning.state !== "on") throw new Error(pruning.state);
  const after = { ...before.metadata.annotations, ...pruning.annotations };
  const left = {
    ...after,
    ...optionsTakenOff({ ...before, metadata: { ...before.metadata, annotations: after as Record<string, string> } }),
  };
  expect(Object.fromEntries(Object.entries(left).filter(([, value]) => value !== null))).toEqual(
    before.metadata.annotations,
  );
});
