import { join } from "node:path";
import { expect, test } from "vitest";
import { plan } from "../../cli/plan/run.ts";
import { HOLD, RETAIN } from "../../shared/marks/marks.ts";
import { type KubeObject, keyOf } from "../../shared/objects/object.ts";
import { InputError } from "../../shared/setup/input-error.ts";
import {
  annotated,
  cluster,
  held,
  labelled,
  machineDeployment,
  metal3DataTemplate,
  metal3Machine,
  metal3MachineTemplate,
  noon,
  object,
  ownedBy,
  retired,
  terminating,
} from "../build/objects.ts";
import { folderOf, runCli } from "./run.ts";

const mgmt = cluster();
const owned = (one: KubeObject) => ownedBy(one, mgmt);
const NOW = "2026-09-01T12:00:00Z";

async function planOf(objects: readonly KubeObject[], ...more: readonly string[]) {
  const folder = await folderOf({ "all.json": { apiVersion: "v1", kind: "List", items: objects } });
  return JSON.parse(await plan(["--snapshot", folder, "--now", NOW, "--json", ...more], {}));
}

const decided = (of: {
  decisions: { concern: string; object: { name: string }; verdict: string; because: string }[];
}) =>
  of.decisions
    .map(({ concern, object: { name }, verdict, because }) => `${concern} ${verdict} ${name} ${because}`)
    .toSorted();

test("one of each -> every verdict with its reason, and nothing about what is left alone", async () => {
  const used = metal3MachineTemplate("used");
  const back = metal3MachineTemplate("back");
  const planned = await planOf([
    mgmt,
    owned(metal3MachineTemplate("new")),
    held(owned(metal3MachineTemplate("quiet"))),
    held(terminating(owned(used), noon(-9))),
    metal3Machine("m", { clonedFrom: used }),
    held(terminating(owned(back), noon(-9))),
    machineDeployment("md", { uses: back }),
    held(terminating(owned(metal3MachineTemplate("spent")), noon(-9))),
    held(retired(owned(metal3MachineTemplate("moved")), noon(-9))),
    annotated(owned(metal3MachineTemplate("mine")), { [RETAIN]: "false" }),
  ]);
  expect(decided(planned)).toEqual([
    "collect-templates collect spent unneeded",
    "collect-templates keep used needed",
    "collect-templates renew back wanted",
    "collect-templates wait moved grace-period",
    "retain-templates hold new not-held",
  ]);
  const wait = planned.decisions.find(({ verdict }: { verdict: string }) => verdict === "wait");
  expect(wait.until).toBe("2026-09-01T12:10:00Z");
  const keep = planned.decisions.find(({ verdict }: { verdict: string }) => verdict === "keep");
  expect(keep.by).toEqual([keyOf(metal3Machine("m"))]);
});

test("--grace -> the end of the wait follows", async () => {
  const planned = await planOf([mgmt, held(retired(owned(metal3MachineTemplate("t")), noon(-9)))], "--grace", "PT1H");
  expect(planned.decisions[0].until).toBe("2026-09-01T13:00:00Z");
});

test("a reference to nothing -> missing, with referrer, path and target", async () => {
  const gone = metal3MachineTemplate("gone");
  const machine = metal3Machine("m", { clonedFrom: gone });
  expect((await planOf([machine])).missing).toEqual([
    { referrer: keyOf(machine), path: "metadata.annotations[cluster.x-k8s.io/cloned-from-name]", target: keyOf(gone) },
  ]);
});

test("an unreadable reference -> keep, with object and path, exit 0", async () => {
  const spec = { template: { spec: { infrastructureRef: { name: "t" } } } };
  const vague = object("MachineDeployment.cluster.x-k8s.io/v1beta1", "md", { spec });
  const planned = await planOf([mgmt, held(terminating(owned(metal3MachineTemplate("t")))), vague]);
  const path = "spec.template.spec.infrastructureRef";
  expect(planned.decisions).toMatchObject([
    { verdict: "keep", because: "unreadable-reference", by: [keyOf(vague)], path },
  ]);
  expect(planned.unreadable).toMatchObject([{ referrer: keyOf(vague), path }]);
});

const used = held(metal3MachineTemplate("t"));
const user = machineDeployment("md", { uses: used });
const crd = (labels: Readonly<Record<string, string>>) => ({
  ...object("CustomResourceDefinition.apiextensions.k8s.io/v1", "x"),
  metadata: { name: "metal3machinetemplates.infrastructure.cluster.x-k8s.io", labels },
});
test.each<readonly [situation: string, unmoved: readonly string[], objects: readonly KubeObject[]]>([
  ["in use without an owner", ["t"], [used, user]],
  ["in use, owned by the Cluster", [], [owned(used), user]],
  ["in use, owned by what the Cluster owns", [], [ownedBy(used, user), owned(user)]],
  [
    "in use, owned by a Cluster of another uid",
    ["t"],
    [owned(used), user, cluster("mgmt"), user]
      .slice(0, 2)
      .concat({ ...mgmt, metadata: { ...mgmt.metadata, uid: "x" } }),
  ],
  ["in use, with the move label", [], [labelled(used, { "clusterctl.cluster.x-k8s.io/move": "" }), user]],
  ["in use, its kind with the move label", [], [used, user, crd({ "clusterctl.cluster.x-k8s.io/move": "" })]],
  ["in use, its kind known to clusterctl without it", ["t"], [used, user, crd({ "clusterctl.cluster.x-k8s.io": "" })]],
  ["not in use", [], [used]],
  [
    "in use over a template",
    ["d"],
    [held(metal3DataTemplate("d")), owned(held(metal3MachineTemplate("m", { uses: metal3DataTemplate("d") })))],
  ],
])("a template %s -> left behind by a move: %j", async (_, unmoved, objects) => {
  const all = objects.some(({ kind }) => kind === "Cluster") ? objects : [mgmt, ...objects];
  const planned = await planOf(all);
  expect(planned.unmoved.map(({ name }: { name: string }) => name)).toEqual(unmoved);
});

test("for a person -> a block per cluster, a line per decision with its reason", async () => {
  const folder = await folderOf({ "t.json": held(terminating(owned(metal3MachineTemplate("t")))), "c.json": mgmt });
  const stdout = await plan(["--snapshot", folder, "--now", NOW], {});
  expect(stdout).toContain("sylva/mgmt\n");
  expect(stdout).toContain(
    "collect Metal3MachineTemplate sylva/t: retired, and nothing needs it any more (collect-templates)",
  );
});

test.each<
  readonly [situation: string, args: readonly string[], files: Readonly<Record<string, string>>, error: string]
>([
  ["YAML that is none", [], { "a.yaml": "---\n---\nkind: [" }, "a.yaml, document 2: "],
  ["an object without a kind", [], { "a.yaml": "apiVersion: v1\nmetadata: {name: x}" }, "a.yaml, document 1: "],
  ["a folder without objects", [], { "a.txt": "" }, "holds no .yaml"],
  ["a time that is none", ["--now", "noon"], { "a.yaml": "" }, '--now is "noon"'],
  ["a duration that is none", ["--grace", "10m"], { "a.yaml": "" }, 'COLLECT_GRACE is "10m"'],
  ["an unknown option", ["--frob"], { "a.yaml": "" }, "--frob"],
])("%s -> refused in one line that says what and where", async (_, args, files, error) => {
  const refused = await plan(["--snapshot", await folderOf(files), ...args], {}).catch((reason: unknown) => reason);
  expect(refused).toBeInstanceOf(InputError);
  expect(String(refused)).toContain(error);
  expect(String(refused).split("\n")).toHaveLength(1);
});

const oldImage = { url: "http://10.0.0.1/os.qcow2", checksum: "http://user:secret@10.0.0.1/os.sha256" };
const withImage = (name: string, image: Readonly<Record<string, string>>): KubeObject => {
  const template = held(metal3MachineTemplate(name));
  return { ...template, spec: { template: { spec: { image } } } };
};
const rulesIn = async (text: string) => join(await folderOf({ "rules.yaml": text }), "rules.yaml");

test("--rules -> each change with path, from and to, without user info; a paused Cluster waits", async () => {
  const rules = await rulesIn("rules: [{from: 'http://10.0.0.1/', to: 'http://10.0.0.2/images/', check: none}]");
  const still = cluster("still", { paused: true });
  const all = [mgmt, still, withImage("t", oldImage), ownedBy(withImage("waiting", oldImage), still)];
  const planned = await planOf(all, "--rules", rules);
  const [url, checksum] = ["spec.template.spec.image.url", "spec.template.spec.image.checksum"];
  expect(planned.decisions).toMatchObject([
    {
      concern: "rewrite-urls",
      verdict: "rewrite",
      object: { name: "t" },
      changes: [
        { path: url, from: "http://10.0.0.1/os.qcow2", to: "http://10.0.0.2/images/os.qcow2" },
        { path: checksum },
      ],
    },
    { concern: "rewrite-urls", verdict: "wait", because: "cluster-paused", object: { name: "waiting" } },
  ]);
  expect(JSON.stringify(planned)).not.toContain("secret");
});

test("--rules and --check -> a new URL that does not answer is refused", async () => {
  const rules = await rulesIn("rules: [{from: 'http://10.0.0.1/', to: 'http://127.0.0.1:1/'}]");
  const planned = await planOf(
    [mgmt, withImage("t", { url: "http://10.0.0.1/os.qcow2" })],
    "--rules",
    rules,
    "--check",
  );
  expect(planned.decisions).toMatchObject([{ verdict: "refuse", because: "unreachable" }]);
});

test("--undo -> what was rewritten goes back", async () => {
  const before = JSON.stringify({ "spec.template.spec.image.url": "http://10.0.0.1/a" });
  const record = JSON.stringify({ wrote: { "spec.template.spec.image.url": "http://10.0.0.2/a" } });
  const rewritten = annotated(withImage("t", { url: "http://10.0.0.2/a" }), {
    "capi-caretaker.io/rewritten-from": before,
    "capi-caretaker.io/rewrite-record": record,
  });
  const { decisions } = await planOf([mgmt, rewritten], "--undo");
  expect(decisions).toMatchObject([
    { because: "undo", changes: [{ from: "http://10.0.0.2/a", to: "http://10.0.0.1/a" }] },
  ]);
});

test("input that cannot be read -> exit 2, the reason on stderr, nothing on stdout", async () => {
  const { code, stdout, stderr } = await runCli("cli/plan.ts", [
    "--json",
    "--snapshot",
    await folderOf({ "a.json": "{" }),
  ]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^a\.json, document 1: .+\n$/);
});

test("no cluster named -> the sample", async () => {
  expect(JSON.parse(await plan(["--json"], {})).decisions.length).toBeGreaterThan(0);
});

test("the hold has one spelling everywhere", () => {
  expect(HOLD).toBe("capi-caretaker.io/in-use");
});
