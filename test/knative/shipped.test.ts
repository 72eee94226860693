import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { REFERENCE_TABLE } from "../../shared/graph/reference-table.ts";
import { INFRASTRUCTURE, isTemplateKind } from "../../shared/objects/kinds.ts";
import { groupKindText, groupOf } from "../../shared/objects/object.ts";
import { CHECKS, differences } from "./checks.ts";
import { passes } from "./filters.ts";
import { grantsIn, grantsOf, rolesIn } from "./grants.ts";
import { COMPONENTS, everything, KNATIVE, kustomizationOf, kustomizations, manifestsOf, ofKind } from "./manifests.ts";
import { FUNCTIONS, NEEDS_EVENT, neededGrants } from "./needs.ts";
import { kindsOf, PROVIDER_NAMES, pluralOf, watchedBy } from "./providers.ts";
import { ApiServerSource, Trigger } from "./schemas.ts";

const sourcesOf = (component: string) =>
  ofKind(manifestsOf(component), "ApiServerSource.sources.knative.dev", ApiServerSource);
const text = (kinds: Parameters<typeof groupKindText>[0][]) => [...new Set(kinds.map(groupKindText))].toSorted();

describe.each(Object.entries(CHECKS))("%s", (_, check) => {
  test.each([
    ["base with every provider", everything()],
    ...COMPONENTS.map((one) => [one, manifestsOf("base", one)] as const),
  ] as const)("%s -> nothing to complain of", (_situation, manifests) => {
    expect(check(manifests)).toEqual([]);
  });
});

test.each(FUNCTIONS)("%s with every provider -> may do what it needs and nothing else", (name) => {
  expect(differences(name, neededGrants(name), grantsOf(name, everything()))).toEqual([]);
});

test.each(COMPONENTS)("%s -> watches what matters of its provider, in its version, and no other kind", (component) => {
  const version = component.replace(/.*-/, "");
  const watched = sourcesOf(component).flatMap(({ spec }) => spec.resources);
  expect(new Set(watched.map(({ apiVersion }) => apiVersion.replace(/.*\//, "")))).toEqual(new Set([version]));
  const kinds = watched.map(({ apiVersion, kind }) => ({ group: groupOf(apiVersion), kind }));
  expect(text(kinds)).toEqual(text([...watchedBy(component.replace("components/", ""))]));
});

test.each(PROVIDER_NAMES)("access of %s -> speaks of its own kinds only", (provider) => {
  const own = kindsOf(provider).map((kind) => `${kind.group}/${pluralOf(kind)}`);
  const granted = rolesIn(manifestsOf(`components/access/${provider}`)).flatMap(grantsIn);
  const foreign = granted.map((grant) => grant.replace(/^\w+ /, "")).filter((one) => !own.includes(one));
  expect([...new Set(foreign)]).toEqual(provider === "metal3" ? ["metal3.io/baremetalhosts"] : []);
});

test("the reference table -> every referrer is watched by a component, and so is every template", () => {
  const watched = text(
    COMPONENTS.flatMap((one) => sourcesOf(one)).flatMap(({ spec }) =>
      spec.resources.map(({ apiVersion, kind }) => ({ group: groupOf(apiVersion), kind })),
    ),
  );
  const referrers = text(REFERENCE_TABLE.map(({ referrer }) => referrer));
  expect(referrers.filter((one) => !watched.includes(one))).toEqual([]);
  const templates = text(kindsOf().filter(isTemplateKind));
  expect(templates.filter((one) => !watched.includes(one))).toEqual([]);
  const targets = text(REFERENCE_TABLE.flatMap(({ target }) => (target && isTemplateKind(target) ? [target] : [])));
  expect(targets.filter((one) => !watched.includes(one))).toEqual([]);
});

describe.each(FUNCTIONS)("the Trigger of %s", (name) => {
  const trigger = ofKind(everything(), "Trigger.eventing.knative.dev", Trigger).find(
    ({ metadata }) => metadata.name === name,
  );
  const delivered = (kind: string, type: string) => passes(trigger?.spec.filters ?? [], { kind, type });

  test.each(["add", "update", "delete"] as const)("%s events -> those it needs and no other", (action) => {
    const wrong = kindsOf().filter((kind) => {
      const isDelivered = delivered(kind.kind, `dev.knative.apiserver.resource.${action}`);
      return isDelivered !== NEEDS_EVENT[name](kind, action);
    });
    expect(text(wrong)).toEqual([]);
  });

  test("an event in Reference mode, a tick and a reply -> kept away", () => {
    const types = ["dev.knative.apiserver.ref.update", "dev.knative.sources.ping", "io.capi-caretaker.template.held"];
    const taken = types.filter((type) => kindsOf().some(({ kind }) => delivered(kind, type)));
    expect(taken).toEqual([]);
  });

  test("a template of a provider that nobody listed -> as one that is listed", () => {
    const type = "dev.knative.apiserver.resource.update";
    const kind = { group: INFRASTRUCTURE, kind: "FooMachineTemplate" };
    expect(delivered(kind.kind, type)).toBe(NEEDS_EVENT[name](kind, "update"));
  });
});

test("every file of knative/ -> belongs to the kustomization beside it", () => {
  const folders = kustomizations();
  const files = readdirSync(KNATIVE, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const orphans = files.filter(({ parentPath, name }) => {
    if (name === "kustomization.yaml") return false;
    const folder = relative(KNATIVE, parentPath);
    return !folders.includes(folder) || !kustomizationOf(folder).resources.includes(name);
  });
  expect(orphans.map(({ parentPath, name }) => join(parentPath, name))).toEqual([]);
});

test("overlays -> the ones that the issue asks for, each of them leads to the base", () => {
  const overlays = kustomizations("overlays");
  expect(overlays.map((folder) => folder.replace("overlays/", "")).toSorted()).toEqual([
    "dry-run",
    "hold-at-creation",
    "kafka",
    "keep-charts",
    "minimal",
    "oidc",
    "tenant",
  ]);
  const withoutBase = overlays.filter((folder) => !manifestsOf(folder).some(({ kind }) => kind === "Namespace"));
  expect(withoutBase).toEqual([]);
});
