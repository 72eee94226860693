import { expect, test } from "vitest";
import { plan } from "../../cli/plan/run.ts";
import { keyOf } from "../../shared/objects/object.ts";
import { changed, config, kcp, NAMES, replaced, world } from "../label-machines/build.ts";
import { folderOf } from "./run.ts";

const planOf = async (objects: ReturnType<typeof world>, ...more: readonly string[]) => {
  const folder = await folderOf({ "all.json": { apiVersion: "v1", kind: "List", items: objects } });
  return plan(["--snapshot", folder, ...more], {});
};
const adoption = async (objects: ReturnType<typeof world>) => {
  const { decisions } = JSON.parse(await planOf(objects, "--json"));
  return decisions.filter(({ concern }: { concern: string }) => concern === "label-machines");
};

test("three single machines and an opted-in, paused control plane -> label, naming the machines", async () => {
  const [decision, ...more] = await adoption(world());
  expect(more).toEqual([]);
  expect(decision).toMatchObject({ object: keyOf(kcp), verdict: "label", because: "checks-passed" });
  expect(decision.machines.map(({ name }: { name: string }) => name)).toEqual([...NAMES]);
});

test("a config that differs -> refuse, would-roll-out, with machine, path and both values", async () => {
  const differing = changed(config("cp-2"), { spec: { preKubeadmCommands: ["true"] } });
  const [decision] = await adoption(replaced(world(), differing));
  expect(decision).toMatchObject({ verdict: "refuse", because: "would-roll-out" });
  expect(decision.differences).toContainEqual(
    expect.objectContaining({ machine: "cp-2", machineValue: expect.anything(), wantedValue: expect.anything() }),
  );
});

test("for a person -> the reasons and the forecast, field by field", async () => {
  const differing = changed(config("cp-2"), { spec: { preKubeadmCommands: ["true"] } });
  const text = await planOf(replaced(world(), differing));
  expect(text).toContain("would-roll-out: ");
  expect(text).toMatch(/cp-2 .*preKubeadmCommands.*: .*wanted/);
});

test("no opt-in -> nothing about the control plane", async () => {
  const bare = changed(kcp, { metadata: { annotations: { "capi-caretaker.io/adopt": null } } });
  expect(await adoption(replaced(world(), bare))).toEqual([]);
});
