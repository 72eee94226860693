import type { KubeObject } from "../objects/object.ts";
import { isRecord } from "../objects/path.ts";
import { annotation, FIELD_MANAGER } from "./marks.ts";

const SYNC_OPTIONS = "argocd.argoproj.io/sync-options";
const COMPARE_OPTIONS = "argocd.argoproj.io/compare-options";
const NO_PRUNE = "Prune=false";
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** JSON: annotation → the option that we added to the list in it. */
export const ARGOCD_OPTIONS = "capi-caretaker.io/argocd-options";

/** Argo CD reads both live: a prune the first, the Application's status the second. */
const OURS: readonly (readonly [name: string, option: string])[] = [
  [SYNC_OPTIONS, NO_PRUNE],
  [COMPARE_OPTIONS, "IgnoreExtraneous"],
];

/** A patch of annotations; null takes one off. */
export type AnnotationPatch = Readonly<Record<string, string | null>>;

/** What live annotations say about pruning an object that its source drops. */
export type Pruning =
  | { readonly state: "off" }
  /** It would be pruned, or shown as out of sync; `annotations` change that. */
  | { readonly state: "on"; readonly annotations: AnnotationPatch }
  /** They say something else about pruning, or its source sets them and would put them back: not ours to change. */
  | { readonly state: "taken" };

/** Weighs the live annotations of an object that Argo CD tracks (gitops-engine pkg/sync/sync_context.go, isPruningDisabled). */
export function pruningOf(object: KubeObject): Pruning {
  // The first value of an option counts, so ours behind another would change nothing.
  const prune = optionsIn(object, SYNC_OPTIONS).find((one) => one.startsWith("Prune="));
  if (prune !== NO_PRUNE && (prune !== undefined || isSetBySource(object, SYNC_OPTIONS))) return { state: "taken" };
  const lacking = OURS.filter(([name, option]) => !optionsIn(object, name).includes(option));
  const due = lacking.filter(([name]) => !isSetBySource(object, name));
  if (due.length === 0) return { state: "off" };
  const lists = due.map(([name, option]) => [name, [annotation(object, name), option].filter(Boolean).join(",")]);
  const mark = JSON.stringify(Object.fromEntries([...optionsAdded(object), ...due]));
  return { state: "on", annotations: { ...Object.fromEntries(lists), [ARGOCD_OPTIONS]: mark } };
}

/** The patch that takes what we added out of the lists, and our record of it off; undefined where we added nothing. */
export function optionsTakenOff(object: KubeObject): AnnotationPatch | undefined {
  if (annotation(object, ARGOCD_OPTIONS) === undefined) return undefined;
  const lists = optionsAdded(object).map(([name, option]): [string, string | null] => {
    const left = (annotation(object, name) ?? "").split(",").filter((item) => item.trim() !== option);
    return [name, left.join(",") || null];
  });
  return { ...Object.fromEntries(lists), [ARGOCD_OPTIONS]: null };
}

/** What is still there of what we added; what the source has come to set itself is its own. */
function optionsAdded(object: KubeObject): typeof OURS {
  const added = parsed(annotation(object, ARGOCD_OPTIONS));
  return OURS.filter(([name, option]) => added[name] === option && optionsIn(object, name).includes(option)).filter(
    ([name]) => !isSetBySource(object, name),
  );
}

/** As Argo CD reads such a list (gitops-engine pkg/sync/resource/annotations.go, GetAnnotationCSVs). */
function optionsIn(object: KubeObject, name: string): readonly string[] {
  return (annotation(object, name) ?? "").split(",").map((item) => item.trim());
}

/** Whether what is applied sets this annotation: each sync, and each self-heal of Argo CD, would put its value back. */
function isSetBySource(object: KubeObject, name: string): boolean {
  const { metadata } = parsed(annotation(object, LAST_APPLIED));
  if (isRecord(metadata) && isRecord(metadata.annotations) && name in metadata.annotations) return true;
  return (object.metadata.managedFields ?? []).some(({ manager = "", operation, fieldsV1 }) => {
    if (manager === FIELD_MANAGER || !(operation === "Apply" || manager.startsWith("argocd"))) return false;
    const fields = ["f:metadata", "f:annotations"].reduce<unknown>(
      (at, step) => (isRecord(at) ? at[step] : at),
      fieldsV1,
    );
    return isRecord(fields) && `f:${name}` in fields;
  });
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isRecord(value) ? value : {};
  } catch {
    // Someone edited it; then it says nothing.
    return {};
  }
}
