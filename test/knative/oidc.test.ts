import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { everything, kustomizationOf, ofKind } from "./manifests.ts";
import { Service, Trigger } from "./schemas.ts";

const Patch = z.strictObject({
  target: z.strictObject({ group: z.string(), kind: z.string(), name: z.string() }),
  patch: z.string(),
});
const Operation = z.strictObject({ op: z.literal("add"), path: z.string(), value: z.unknown() });
const Variable = z.strictObject({ name: z.string(), value: z.string() });

const ENV = "/spec/template/spec/containers/0/env/-";
const AUDIENCE = "/spec/subscriber/audience";

const services = ofKind(everything(), "Service.serving.knative.dev", Service);
const triggers = ofKind(everything(), "Trigger.eventing.knative.dev", Trigger);

/** What the option adds to an object at a path. kustomize takes a target's name for a whole one (kustomize api/types/selector.go). */
function addedTo(group: string, kind: string, name: string, path: string): readonly unknown[] {
  return z
    .array(Patch)
    .parse(kustomizationOf("options/oidc").patches)
    .filter(({ target }) => target.group === group && target.kind === kind)
    .filter(({ target }) => new RegExp(`^(?:${target.name})$`).test(name))
    .flatMap(({ patch }) => z.array(Operation).parse(parse(patch)))
    .filter((operation) => operation.path === path)
    .map(({ value }) => value);
}

function variables(service: string): Readonly<Record<string, string>> {
  const added = z.array(Variable).parse(addedTo("serving.knative.dev", "Service", service, ENV));
  return Object.fromEntries(added.map(({ name, value }) => [name, value]));
}

const LONGEST = 63;
const HEAD = LONGEST - 32;

/** The name of an object that belongs to another (knative.dev/pkg kmeta/names.go); ASCII only, as names are. */
function childName(parent: string, suffix: string): string {
  const md5 = (text: string) => createHash("md5").update(text).digest("hex");
  if (parent.length + suffix.length <= LONGEST) return parent + suffix;
  if (suffix.length < HEAD) return parent.slice(0, HEAD - suffix.length) + md5(parent) + suffix;
  return (parent.slice(0, HEAD) + md5(parent + suffix) + suffix).slice(0, LONGEST).replace(/[^a-zA-Z0-9]+$/, "");
}

/** Whose token comes with a Trigger's events (knative/eventing pkg/auth/serviceaccount.go). */
const accountOf = (trigger: string) => childName(trigger, "-oidc-eventing.knative.dev-Trigger").toLowerCase();

// Those of knative.dev/pkg kmeta/names_test.go.
test.each([
  ["asdf", "-deployment", "asdf-deployment"],
  ["f".repeat(63), "-deployment", "ffffffffffffffffffff105d7597f637e83cc711605ac3ea4957-deployment"],
  ["f".repeat(63), "-deploy", "ffffffffffffffffffffffff105d7597f637e83cc711605ac3ea4957-deploy"],
  ["f".repeat(63), "f".repeat(63), "fffffffffffffffffffffffffffffff0502661254f13c89973cb3a83e0cbec0"],
  ["a", "f".repeat(63), "ab5cfd486935decbc0d305799f4ce4414ffffffffffffffffffffffffffffff"],
  ["b".repeat(32), "f".repeat(32), "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb329c7c81b9ab3ba71aa139066aa5625d"],
  ["aaaa", "b---a".repeat(20), "aaaa7a3f7966594e3f0849720eced8212c18b---ab---ab---ab---ab---ab"],
  [
    "a".repeat(17),
    "a.-.-.-.-.-.-.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaaaaaaaaaaaa1eb10dc911444f8434af83b7225442da",
  ],
])("%s and %s -> the name that Knative makes of them", (parent, suffix, name) => {
  expect(childName(parent, suffix)).toBe(name);
});

test.each(services.map(({ metadata }) => [metadata.name, metadata.namespace] as const))(
  "%s -> lets in the senders of its own Triggers, and nobody else",
  (name, namespace) => {
    const own = triggers.filter(({ spec }) => spec.subscriber.ref.name === name);
    const subjects = own.map(
      ({ metadata }) => `system:serviceaccount:${metadata.namespace}:${accountOf(metadata.name)}`,
    );
    // knative/eventing pkg/auth/audience.go
    const audience = `serving.knative.dev/service/${namespace}/${name}`;
    const { OIDC_AUDIENCE, OIDC_SUBJECTS } = variables(name);
    expect(OIDC_AUDIENCE).toBe(audience);
    expect(OIDC_SUBJECTS?.split(",").toSorted()).toEqual(subjects.toSorted());
    for (const { metadata } of own) {
      expect([metadata.name, ...addedTo("eventing.knative.dev", "Trigger", metadata.name, AUDIENCE)]).toEqual([
        metadata.name,
        audience,
      ]);
    }
  },
);

test("every Trigger -> leads to a function that checks its token", () => {
  const checked = services.map(({ metadata }) => metadata.name);
  expect(checked).toHaveLength(4);
  expect(triggers.filter(({ spec }) => !checked.includes(spec.subscriber.ref.name))).toEqual([]);
});
