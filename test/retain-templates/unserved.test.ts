import { describe, expect, test } from "vitest";
import { handle as retain } from "../../functions/retain-templates/index.ts";
import { findUnserved, warningsFrom } from "../../functions/retain-templates/unserved.ts";
import { type Cluster, ClusterError, type KindVersion } from "../../shared/cluster/cluster.ts";
import { hasHold } from "../../shared/marks/marks.ts";
import type { KubeObject } from "../../shared/objects/object.ts";
import { bench } from "../build/bench.ts";
import { inNamespace, metal3MachineTemplate, object } from "../build/objects.ts";

const CORE_1 = "cluster.x-k8s.io/v1beta1";
const CORE_2 = "cluster.x-k8s.io/v1beta2";
const INFRA_1 = "infrastructure.cluster.x-k8s.io/v1beta1";

/** "apiVersion Kind" as discovery and as a source's resource have it. */
const kindVersion = (text: string): KindVersion => {
  const [apiVersion = "", kind = ""] = text.split(" ");
  return { apiVersion, kind };
};

const sourceOf = (name: string, ...watched: readonly string[]): KubeObject =>
  inNamespace(
    object("ApiServerSource.sources.knative.dev/v1", name, { spec: { resources: watched.map(kindVersion) } }),
    "capi-caretaker",
  );

test.each<
  readonly [situation: string, watched: readonly string[], served: readonly string[], found: readonly string[]]
>([
  ["what is served", [`${CORE_2} Machine`], [`${CORE_2} Machine`, `${CORE_1} Machine`], []],
  ["an older version that is still served", [`${CORE_1} Machine`], [`${CORE_2} Machine`, `${CORE_1} Machine`], []],
  ["an older version that is gone", [`${CORE_1} Machine`], [`${CORE_2} Machine`], [`Machine version-gone ${CORE_2}`]],
  [
    "a newer version that is not yet served",
    [`${CORE_2} Machine`],
    [`${CORE_1} Machine`],
    [`Machine version-gone ${CORE_1}`],
  ],
  ["a provider that is not installed", [`${INFRA_1} FooMachine`], [`${CORE_2} Machine`], ["FooMachine version-gone "]],
  [
    "a kind that its provider has dropped",
    [`${CORE_2} Machine`, `${CORE_2} MachinePool`],
    [`${CORE_2} Machine`],
    ["MachinePool kind-gone "],
  ],
  [
    "a kind that has moved on while others stay",
    [`${INFRA_1} FooMachine`, `${INFRA_1} FooData`],
    [`${INFRA_1} FooMachine`, "infrastructure.cluster.x-k8s.io/v1beta2 FooData"],
    ["FooData kind-gone infrastructure.cluster.x-k8s.io/v1beta2"],
  ],
  [
    "a kind of the same name in another group",
    [`${CORE_1} Machine`],
    ["other.example/v1beta1 Machine", `${CORE_1} Cluster`],
    ["Machine kind-gone "],
  ],
  ["a kind of the core group", ["v1 ConfigMap"], [], []],
])("a source watches %s -> %j", (_, watched, served, found) => {
  const unserved = findUnserved([sourceOf("s", ...watched)], { versions: served.map(kindVersion) });
  expect(unserved.map(({ kind, because, servedAt }) => `${kind} ${because} ${servedAt.join()}`)).toEqual(found);
});

test.each([
  ["without resources", {}],
  ["with resources that are none", { spec: { resources: ["x", null, { kind: 1 }] } }],
])("a source %s -> nothing found", (_, fields) => {
  const source = object("ApiServerSource.sources.knative.dev/v1", "s", fields);
  expect(findUnserved([source], { versions: [] })).toEqual([]);
});

test("many kinds of one version -> one warning, which says what follows and what to do", () => {
  const sources = [
    sourceOf("core", `${CORE_1} MachinePool`, `${CORE_1} Machine`, `${CORE_1} Cluster`),
    sourceOf("metal3", `${INFRA_1} Metal3Machine`),
    sourceOf("pools", `${CORE_2} MachinePool`),
  ];
  const versions = [`${CORE_2} Machine`, `${CORE_2} Cluster`].map(kindVersion);
  const notes = warningsFrom(findUnserved(sources, { versions })).map(({ source, note }) => [
    source.metadata.name,
    note,
  ]);
  const ends = "The source's adapter ends at its next start, and none of its events come.";
  expect(notes).toEqual([
    [
      "core",
      `${CORE_1} is watched and not served: MachinePool, Machine, Cluster. ${ends} Use the component for the version that is served: ${CORE_2}.`,
    ],
    [
      "metal3",
      `${INFRA_1} is watched and not served: Metal3Machine. ${ends} Take the component out, or install its provider.`,
    ],
    [
      "pools",
      `${CORE_2} is watched and not served: MachinePool. No version of it is served. Once one is, restart the source's adapter.`,
    ],
  ]);
});

describe("a sweep", () => {
  const template = metal3MachineTemplate("t");
  const stale = sourceOf("metal3", "infrastructure.cluster.x-k8s.io/v1alpha5 Metal3MachineTemplate");

  test("a watched version is not served -> counted, told on the source once, and templates are held as ever", async () => {
    const b = bench([template, stale]);
    await b.sweep(retain);
    const { counts, acts } = await b.sweep(retain);
    expect([counts, acts]).toEqual([{ templates: 1, "unserved-versions": 1 }, []]);
    expect(hasHold(await b.live(template))).toBe(true);
    const told = b.cluster.events().filter(({ reason }) => reason === "WatchedVersionNotServed");
    expect(told).toMatchObject([
      { type: "Warning", regarding: { kind: "ApiServerSource", metadata: { name: "metal3" } } },
    ]);
  });

  test.each<readonly [situation: string, objects: readonly KubeObject[]]>([
    ["no source", []],
    ["a source whose versions are served", [sourceOf("metal3", `${INFRA_1} Metal3MachineTemplate`)]],
    ["a source in another namespace", [inNamespace(stale, "other")]],
  ])("%s -> no word", async (_, objects) => {
    const b = bench([template, ...objects]);
    const { counts } = await b.sweep(retain);
    expect(counts).toEqual({ templates: 1, held: 1 });
    expect(b.cluster.events().map(({ reason }) => reason)).toEqual(["TemplateHeld"]);
  });

  test.each<readonly [failure: "forbidden" | "unavailable", outcome: string]>([
    ["forbidden", "completes"],
    ["unavailable", "fails, to be sent again"],
  ])("the sources are %s -> templates are held, and the sweep %s", async (failure, outcome) => {
    const b = bench([template, stale], {}, (inner) => {
      const list: Cluster["list"] = async (kind, options) => {
        if (kind.kind === "ApiServerSource") throw new ClusterError(failure, failure);
        return inner.list(kind, options);
      };
      return { ...inner, list };
    });
    const swept = await b.sweep(retain).then(
      () => "completes",
      () => "fails, to be sent again",
    );
    expect([swept, hasHold(await b.live(template))]).toEqual([outcome, true]);
  });
});
