import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HOST, hostFrom, imageIsStillOpen, indexHosts } from "../../functions/rewrite-urls/hosts.ts";
import { annotation } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { isRecord, stringAt, valuesAt } from "../../shared/objects/path.ts";
import { annotated, inNamespace, metal3Machine } from "../build/objects.ts";
import { bareMetalHost } from "./world.ts";

const machine = metal3Machine("m");
const claiming = (claim: string) => annotated(machine, { [HOST]: claim });
const IMAGE = { image: { url: "http://h/os" } };
const consumer = (fields: Readonly<Record<string, unknown>> = {}) => ({
  consumerRef: { kind: "Metal3Machine", name: "m", namespace: "sylva", ...fields },
});
const host = (spec: Readonly<Record<string, unknown>>, namespace = "sylva") =>
  inNamespace(bareMetalHost("h", { spec }), namespace);

describe("whether a machine's image is still open", () => {
  test.each<[string, KubeObject, readonly KubeObject[], boolean]>([
    ["no host", machine, [], true],
    ["its host has none", claiming("sylva/h"), [host({})], true],
    ["its host has one", claiming("sylva/h"), [host(IMAGE)], false],
    ["its host, named without a namespace, has one", claiming("h"), [host(IMAGE)], false],
    ["its host in another namespace has none", claiming("metal/h"), [host({}, "metal")], true],
    ["its host in another namespace has one", claiming("metal/h"), [host(IMAGE, "metal")], false],
    ["a namesake of its host has one", claiming("sylva/h"), [host({}), host(IMAGE, "metal")], true],
    ["its host is not known", claiming("metal/h"), [host({})], false],
    ["an empty claim", claiming(""), [host(IMAGE)], true],
    ["a host that names it has one", machine, [host({ ...IMAGE, ...consumer() })], false],
    ["in its own namespace, which it leaves out", machine, [host({ ...IMAGE, ...consumer({ namespace: "" }) })], false],
    [
      "from another namespace, which it leaves out",
      machine,
      [host({ ...IMAGE, ...consumer({ namespace: "" }) }, "metal")],
      true,
    ],
    ["from another namespace", machine, [host({ ...IMAGE, ...consumer() }, "metal")], false],
    ["a host names something else of that name", machine, [host({ ...IMAGE, ...consumer({ kind: "Other" }) })], true],
    ["a host names nothing", machine, [host({ ...IMAGE, consumerRef: {} })], true],
    [
      "the one it claims has none, another that names it has one",
      claiming("metal/h"),
      [host({}, "metal"), host({ ...IMAGE, ...consumer() })],
      false,
    ],
  ])("%s -> %4$s", (_situation, one, hosts, isOpen) => {
    expect(imageIsStillOpen(one, indexHosts(hosts.map(hostFrom)))).toBe(isOpen);
    expect(byDefinition(one, hosts)).toBe(isOpen);
  });

  test("a host that is shown again -> its last state counts", () => {
    const shown = [host({ ...IMAGE, ...consumer() }), host(consumer())].map(hostFrom);
    expect(imageIsStillOpen(claiming("sylva/h"), indexHosts(shown))).toBe(true);
    expect(imageIsStillOpen(machine, indexHosts(shown))).toBe(true);
  });

  test("any hosts and machines -> as the definition says, which looks at every host", () => {
    const name = fc.constantFrom("a", "b", "c");
    const place = fc.constantFrom("sylva", "metal");
    const ref = fc.record({
      kind: fc.constantFrom("Metal3Machine", "Other", undefined),
      name: fc.option(name),
      namespace: fc.constantFrom("sylva", "metal", "", undefined, 7),
    });
    const oneHost = fc
      .record({ name, place, image: fc.constantFrom({}, IMAGE, { image: { url: "" } }), consumerRef: fc.option(ref) })
      .map(({ name, place, image, consumerRef }) =>
        inNamespace(bareMetalHost(name, { spec: { ...image, consumerRef } }), place),
      );
    const hosts = fc.uniqueArray(oneHost, { selector: ({ metadata: m }) => `${m.namespace}/${m.name}`, maxLength: 6 });
    const claim = fc.constantFrom(undefined, "", "a", "sylva/a", "metal/b", "metal/x", "a/b/c");
    const oneMachine = fc.record({ name, place, claim }).map(({ name, place, claim }) => {
      const made = inNamespace(metal3Machine(name), place);
      return claim === undefined ? made : annotated(made, { [HOST]: claim });
    });
    fc.assert(
      fc.property(oneMachine, hosts, (one, all) => {
        expect(imageIsStillOpen(one, indexHosts(all.map(hostFrom)))).toBe(byDefinition(one, all));
      }),
      { numRuns: 500 },
    );
  });
});

/** A machine's hosts are the one it claims and those that name it; its image is open while it knows them and none has an image. */
function byDefinition(machine: KubeObject, hosts: readonly KubeObject[]): boolean {
  const { namespace, name } = keyOf(machine);
  const claim = annotation(machine, HOST);
  const claimed = claim && !claim.includes("/") ? `${namespace}/${claim}` : claim;
  const isClaimed = (host: KubeObject) => `${keyOf(host).namespace}/${keyOf(host).name}` === claimed;
  const namesIt = (host: KubeObject) =>
    stringAt(host, "spec.consumerRef.kind") === "Metal3Machine" &&
    stringAt(host, "spec.consumerRef.name") === name &&
    (stringAt(host, "spec.consumerRef.namespace") || keyOf(host).namespace) === namespace;
  const its = hosts.filter((host) => isClaimed(host) || namesIt(host));
  const hasImage = (host: KubeObject) =>
    valuesAt(host, "spec.image").some(({ value }) => isRecord(value) && Object.values(value).some(Boolean));
  return (!claimed || its.some(isClaimed)) && !its.some(hasImage);
}
