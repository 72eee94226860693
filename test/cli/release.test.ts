import { expect, test } from "vitest";
import { readScope } from "../../cli/release/options.ts";
import { release } from "../../cli/release/run.ts";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import { RETAIN } from "../../shared/marks/marks.ts";
import { bench } from "../build/bench.ts";
import {
  annotated,
  cluster,
  finalizedBy,
  held,
  inNamespace,
  labelled,
  metal3Machine,
  metal3MachineTemplate,
  object,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";

const mgmt = cluster();
const live = ownedBy(metal3MachineTemplate("live"), mgmt);
const going = held(terminating(metal3MachineTemplate("going")));

async function released(objects: Parameters<typeof bench>[0], ...args: readonly string[]) {
  const b = bench(objects);
  const lines: string[] = [];
  await release(b.cluster, b.context.settings, readScope(args), (line) => lines.push(line));
  return { b, lines };
}

test("--all -> no hold and no mark of ours is left, other finalizers and a person's marks are", async () => {
  const marked = annotated(finalizedBy(held(retired(live)), "metal3"), { [RETAIN]: "false", theirs: "1" });
  const { b, lines } = await released([mgmt, marked, held(inNamespace(live, "other"))], "--all");
  const { metadata } = await b.live(live);
  expect(metadata.finalizers).toEqual(["metal3"]);
  expect(metadata.annotations).toEqual({ [RETAIN]: "false", theirs: "1" });
  expect(metadata.labels).toEqual({});
  expect((await b.live(inNamespace(live, "other"))).metadata.finalizers).toEqual([]);
  expect(lines).toEqual(["2 objects released; 0 were Terminating and are gone, 0 of them still needed"]);
});

test("a Terminating template that only the hold kept -> gone, and named where it was still needed", async () => {
  const { b, lines } = await released([going, metal3Machine("m", { clonedFrom: going })], "--all");
  expect(await b.has(going)).toBe(false);
  expect(lines[0]).toContain("was still needed: ");
  expect(lines.at(-1)).toContain("1 were Terminating and are gone, 1 of them still needed");
});

test("run a second time -> nothing to do", async () => {
  const { b } = await released([mgmt, held(live)], "--all");
  const before = b.changes.length;
  await release(b.cluster, b.context.settings, { of: "all" }, () => undefined);
  expect(b.changes.length).toBe(before);
});

test.each<readonly [args: readonly string[], released: readonly string[]]>([
  [["--namespace", "other"], ["other/live"]],
  [["--cluster", "sylva/mgmt"], ["sylva/live"]],
  [["--cluster", "sylva/else"], []],
  [["--all"], ["sylva/live", "sylva/loose", "other/live"]],
])("%j -> released: %j", async (args, expected) => {
  const all = [mgmt, held(live), held(metal3MachineTemplate("loose")), held(inNamespace(live, "other"))];
  const { b } = await released(all, ...args);
  const bare = b.cluster
    .all()
    .filter(({ kind, metadata }) => kind.endsWith("Template") && metadata.finalizers?.length === 0);
  expect(bare.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).toSorted()).toEqual(expected.toSorted());
});

test.each([
  ["our Trigger", object("Trigger.eventing.knative.dev/v1", "retain")],
  ["our admission policy", object("MutatingAdmissionPolicy.admissionregistration.k8s.io/v1", "hold")],
])("%s still stands -> refused, nothing released", async (_, standing) => {
  const ours = labelled(standing, { "app.kubernetes.io/part-of": "capi-caretaker" });
  const b = bench([held(live), ours]);
  await expect(release(b.cluster, b.context.settings, { of: "all" }, () => undefined)).rejects.toThrow(
    standing.metadata.name,
  );
  expect(b.changes).toEqual([]);
});

test("somebody else's Trigger -> no obstacle", async () => {
  const { b } = await released([held(live), object("Trigger.eventing.knative.dev/v1", "theirs")], "--all");
  expect((await b.live(live)).metadata.finalizers).toEqual([]);
});

test("released and a template event comes -> held again: that is why the Triggers go first", async () => {
  const { b } = await released([held(live)], "--all");
  await b.send(retain, "update", await b.live(live));
  expect((await b.live(live)).metadata.finalizers).toHaveLength(1);
});

test.each([[[]], [["--all", "--namespace", "x"]], [["--cluster", "mgmt"]], [["--everything"]]])(
  "%j -> refused with the usage",
  (args) => {
    expect(() => readScope(args)).toThrow(/NAMESPACE/);
  },
);
